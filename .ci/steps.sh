# Runs named steps, one at a time or beside each other, and counts what they found. `.ci/run` says which steps
# there are. Each step leaves one line in "$work/results" when it ends: status, seconds, assertions that passed,
# failed and were skipped, name.
work=$(mktemp -d)
: >"$work/results"
: >"$work/failures"
: >"$work/pids"
lanes=()
trap 'end_lanes; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# step NAME COMMAND…: runs a step and counts it. A step that runs tests is counted by its assertions, any other
# as one. Inside a lane its output is printed whole when it ends. A step that takes longer than `limitS` is
# ended and has failed: what it printed until then says where it hangs. The limits end what hangs; a machine at a
# third of its usual speed stays within them.
limitS=2100
step() {
  local name=$1 log=$work/$1.log startS=$SECONDS status
  shift
  if [ -n "${lane-}" ]; then
    printing "== $name begins"
    limited "$@" >"$log" 2>&1 </dev/null
    status=$?
    printing "== $name" "$log"
  else
    echo "== $name"
    limited "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
  fi
  record "$name" "$status" $((SECONDS - startS)) "$log"
}

# limited COMMAND…: ends the command, a function or a program, with all that it started, after `limitS`.
limited() {
  local pid
  [ "$(type -t "$1")" != function ] || export -f "${1?}"
  timeout --kill-after=10 "$limitS" bash -c '"$@"' - "$@" &
  pid=$!
  echo "$pid" >>"$work/pids"
  wait "$pid"
}

# together LANE…: runs functions beside each other, each a lane of steps, and waits until all have ended.
together() {
  local name index=0
  lanes=()
  set -m # each lane is a process group: it is ended with all that it started
  for name in "$@"; do
    (lane=$name && "$name"; : >"$work/$name.ended") </dev/null &
    lanes+=($!)
  done
  set +m
  for name in "$@"; do
    wait "${lanes[index++]}"
    [ -e "$work/$name.ended" ] || record "$name, which did not come to its end" 1 0 /dev/null
  done
  end_lanes
}

end_lanes() {
  local pid
  for pid in "${lanes[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
  lanes=()
  # each command has a group of its own
  while read -r pid; do kill -TERM -- "-$pid" 2>/dev/null; done <"$work/pids"
  : >"$work/pids"
}

# printing LINE [FILE]: nothing of another lane comes between the line and the file
printing() {
  (flock 9 && echo "$1" && { [ $# = 1 ] || cat "$2"; }) 9>"$work/printing"
}

# record NAME STATUS SECONDS LOG: counts a step that has ended
record() {
  local name=$1 status=$2 seconds=$3 log=$4 counts passed=0 failed=0 skipped=0
  # tap's last count: "# { total: 4, pass: 3, fail: 1 }"
  counts=$(grep -aE '^# \{ total: ' "$log" | tail -1)
  if [ -n "$counts" ]; then
    passed=$(number pass "$counts") failed=$(number fail "$counts") skipped=$(number skip "$counts")
    [ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
    grep -anE '^ *not ok ' "$log" | head -40 | sed "s/^/$name: failed at line /" >>"$work/failures"
  elif [ "$status" = 0 ]; then
    passed=1
  else
    failed=1
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
      echo "$name: ended after $seconds s, its limit" >>"$work/failures"
    else
      echo "$name: failed" >>"$work/failures"
    fi
  fi
  echo "$status $seconds $passed $failed $skipped $name" >>"$work/results"
}

number() {
  local found
  found=$(sed -nE "s/.*$1: ([0-9]+).*/\1/p" <<<"$2")
  echo "${found:-0}"
}

# Prints each step with its duration, what failed, and the counts of all as the last line. Fails when anything did.
report() {
  local status seconds passed failed skipped name allPassed=0 allFailed=0 allSkipped=0
  echo "== steps, $((SECONDS / 60)) minutes"
  while read -r status seconds passed failed skipped name; do
    allPassed=$((allPassed + passed)) allFailed=$((allFailed + failed)) allSkipped=$((allSkipped + skipped))
    echo "$([ "$status" = 0 ] && echo ok || echo FAILED) $name ($seconds s)"
  done <"$work/results"
  cat "$work/failures"
  echo "$allPassed passed, $allFailed failed, $allSkipped skipped"
  [ "$allFailed" = 0 ]
}
