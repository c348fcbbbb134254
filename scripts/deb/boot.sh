#!/bin/sh
# boot-test: boots systemd over a temporary copy of this system (an overlay in separate namespaces), installs the package
# there, and checks the unit as a device runs it: sandbox, notify, reload, restart, stop. Nothing of this
# system changes. Usage, as root: scripts/deb/boot.sh PACKAGE.deb
set -eu
say() { echo "boot-test: ok: $1"; }
skip() {
  echo "boot-test: skipped: $1"
  exit 0
}
url=http://127.0.0.1:8080

# the part that runs as the new system's first process
if [ "${1:-}" = --first-process ]; then
  place=$2
  mount -t tmpfs tmpfs "$place"
  mkdir "$place/upper" "$place/work" "$place/root"
  root=$place/root
  mount -t overlay overlay -o "lowerdir=/,upperdir=$place/upper,workdir=$place/work" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  for dir in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$dir"; done
  chmod 1777 "$root/tmp"
  for node in null zero full random urandom tty; do
    : >"$root/dev/$node"
    mount --bind "/dev/$node" "$root/dev/$node"
  done
  mkdir "$root/dev/shm" "$root/dev/pts"
  mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  # what has no business in here
  for unit in console-getty.service systemd-udevd.service systemd-logind.service apt-daily.timer apt-daily-upgrade.timer; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
  done
  cp "$3" "$root/fieldgate.deb"
  ip link set lo up
  # no chroot: inside one the unit's PrivateUsers= would be refused
  cd "$root"
  mkdir before
  pivot_root . before
  umount -l /before
  exec env -i container=boot-test PATH="$PATH" /lib/systemd/systemd --system --unit=basic.target
fi

deb=$(realpath "$1")
[ "$(id -u)" = 0 ] || skip "needs root"
[ -x /lib/systemd/systemd ] || skip "systemd is not installed"
for program in unshare nsenter curl ip; do command -v $program >/dev/null || skip "$program is not installed"; done
spaces="--mount --propagation private --pid --ipc --uts --net --cgroup --fork"
place=$(mktemp -d)
why=$(unshare $spaces sh -c "mount -t tmpfs tmpfs $place && mkdir $place/a $place/b $place/c &&
  mount -t overlay overlay -o lowerdir=/,upperdir=$place/a,workdir=$place/b $place/c && mount -t cgroup2 cgroup2 $place/a" 2>&1) ||
  skip "this system lets us make no namespaces and mounts: $why"

# shellcheck disable=SC2086
unshare $spaces --kill-child sh "$0" --first-process "$place" "$deb" &
shell=$!
trap 'kill -9 $shell 2>/dev/null || true; wait $shell 2>/dev/null || true; rmdir "$place"' EXIT
first=
for _ in $(seq 100); do
  first=$(pgrep -P $shell) && break || sleep 0.1
done
inside() { nsenter --target "$first" --mount --pid --net --root --wd -- "$@"; }
fail() {
  echo "boot-test: $1" >&2
  inside journalctl --no-pager -n 40 >&2 || true
  inside systemctl status --no-pager fieldgate >&2 || true
  exit 1
}
# waits until a command succeeds
await() {
  for _ in $(seq 300); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  return 1
}
booted() { case $(inside systemctl is-system-running) in running | degraded) ;; *) return 1 ;; esac }
await booted || fail "systemd did not come up: $(inside systemctl is-system-running)"
say "systemd runs as the first process"

inside dpkg -i /fieldgate.deb >/dev/null 2>&1 || fail "dpkg -i"
inside systemctl start fieldgate || fail "systemctl start"
[ "$(inside systemctl is-active fieldgate)" = active ] || fail "the unit is not active"
inside curl -fsS $url/readyz >/dev/null || fail "/readyz"
say "the hardened unit tells READY and answers: $(inside systemctl show fieldgate -p StatusText --value)"

status=$(inside sh -c 'cat /proc/$(systemctl show fieldgate -p MainPID --value)/status')
echo "$status" | grep -q '^NoNewPrivs:.1' || fail "may gain privileges"
echo "$status" | grep -q '^Seccomp:.2' || fail "no system call filter"
echo "$status" | grep -q '^CapEff:.0000000000000000' || fail "has capabilities"
[ "$(inside stat -c %U /var/lib/fieldgate/state.db)" = fieldgate ] || fail "the data are not the user's own"
rss=$(echo "$status" | sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p')
say "$((rss * 1024 / 1000000)) MB of memory (RSS)"
say "runs as its user without capabilities, under the system call filter"

inside systemctl reload fieldgate || fail "reload"
inside curl -fsS $url/readyz >/dev/null || fail "/readyz after the reload"
say "reload"

inside systemctl kill -s KILL fieldgate
restarted() { [ "$(inside systemctl show fieldgate -p NRestarts --value)" = 1 ] && inside curl -fs $url/readyz; }
await restarted || fail "did not come back after a kill"
say "comes back after a kill"

# a signed release that does not do what its version says: the unit of updates installs it and puts the old one back
if command -v openssl >/dev/null; then
  [ "$(inside systemctl is-enabled fieldgate-update.timer)" = disabled ] || fail "the timer of updates is enabled"
  inside systemctl start fieldgate-update || fail "an update without a staged release"
  made=$(mktemp -d)
  openssl genpkey -algorithm ed25519 -out "$made/key" 2>/dev/null
  public=$(openssl pkey -in "$made/key" -pubout -outform DER | tail -c 32 | base64)
  printf '#!/bin/sh\n[ "$1" = version ] && exec echo \047{"version":"9.0.0"}\047\nexec %s.previous "$@"\n' \
    /usr/lib/fieldgate/fieldgate >"$made/release"
  printf 'fieldgate-release-1\nversion: 9.0.0\ntarget: linux-%s\nbytes: %s\nsha256: %s\n' \
    "$(dpkg --print-architecture | sed s/amd64/x64/)" "$(stat -c %s "$made/release")" \
    "$(sha256sum <"$made/release" | cut -d' ' -f1)" >"$made/sig"
  signature=$(openssl pkeyutl -sign -inkey "$made/key" -rawin -in "$made/sig" | base64 -w0)
  echo "signature: $signature" >>"$made/sig"
  staged=/var/lib/fieldgate/fleet/release
  inside runuser -u fieldgate -- mkdir -p $staged
  for file in release sig; do
    name=$staged/fieldgate$([ $file = release ] || echo .sig)
    inside runuser -u fieldgate -- sh -c "cat >$name" <"$made/$file"
  done
  rm -r "$made"
  inside sed -i "s|\"update\": {|\"update\": { \"publicKey\": \"$public\", \"readyS\": 5,|" /etc/fieldgate/edge.config.json
  inside systemctl start fieldgate-update 2>/dev/null && fail "a release that does not work was installed"
  said=$(inside journalctl --no-pager -u fieldgate-update -o cat)
  echo "$said" | grep -q '9.0.0 does not work here (found version .*, expected 9.0.0): .* was restored$' || fail "fieldgate-update says $said"
  inside grep -q 9.0.0 /usr/lib/fieldgate/fieldgate.rolled-back || fail "what was rolled back is not noted"
  inside curl -fsS $url/readyz >/dev/null || fail "/readyz after an update that was rolled back"
  inside systemctl start fieldgate-update || fail "a release that was rolled back was tried again"
  [ -z "$(inside find /var/lib/fieldgate -user root)" ] || fail "an update left files of root"
  say "the unit of updates installs a release, puts the old one back when it does not work, and does not repeat it"
else
  echo "boot-test: skipped, needs openssl: the unit of updates"
fi

inside systemctl stop fieldgate || fail "stop"
result=$(inside systemctl show fieldgate -p Result -p ExecMainStatus --value | tr '\n' ' ')
[ "$result" = "success 0 " ] || fail "ended with $result"
[ -z "$(inside journalctl --no-pager -u fieldgate -p err -o cat | grep -v 'status=9/KILL\|Failed with result' || true)" ] || fail "errors in the journal"
say "stops with 0"
