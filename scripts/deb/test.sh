#!/bin/sh
# deb-test: installs, upgrades, removes and purges build/fieldgate_*_amd64.deb with the real dpkg. For machines that are
# thrown away: it leaves the user fieldgate. Usage: scripts/deb/test.sh OLD.deb NEW.deb
set -eu
old=$1 new=$2
config=/etc/fieldgate/edge.config.json
fail() {
  echo "deb-test: $1" >&2
  exit 1
}
say() { echo "deb-test: ok: $1"; }
[ "$(id -u)" = 0 ] || fail "needs root"
dpkg -s fieldgate >/dev/null 2>&1 && fail "the package is installed already"

dpkg -i "$old" >/dev/null
[ "$(stat -c '%U:%G %a' $config)" = "root:fieldgate 640" ] || fail "$config: $(stat -c '%U:%G %a' $config)"
[ "$(stat -c '%U %a' /var/lib/fieldgate)" = "fieldgate 700" ] || fail "/var/lib/fieldgate is not the user's own"
for folder in /var/lib/fieldgate-hub /etc/fieldgate/keys; do
  [ "$(stat -c '%U %a' $folder)" = "fieldgate 700" ] || fail "$folder is not the user's own, as a hub needs it"
done
say "install"

links=$(find /etc/systemd -name 'fieldgate-update.*')
[ -z "$links" ] || fail "the timer of updates is enabled without an operator: $links"
said=$(fieldgate update --staged) || fail "update --staged without a release ends with $?"
[ "$said" = "Nothing is installed: no release is staged" ] || fail "update --staged says $said"
[ -z "$(find /var/lib/fieldgate -user root)" ] || fail "update --staged left files of root"
say "the timer of updates is off, and updates find nothing staged"

fieldgate init --json >/dev/null
[ "$(stat -c %U /var/lib/fieldgate/state.db)" = fieldgate ] || fail "root's command left files of root"
before=$(fieldgate key list --json)
man -l /usr/share/man/man8/fieldgate.8.gz >/dev/null 2>&1 || ! command -v man >/dev/null || fail "the man page cannot be read"
if command -v systemd-analyze >/dev/null; then
  for unit in fieldgate.service fieldgate-hub.service; do
    systemd-analyze verify "/usr/lib/systemd/system/$unit" || fail "systemd-analyze verify $unit"
    exposure=$(systemd-analyze security --offline=true --no-pager "/usr/lib/systemd/system/$unit" |
      sed -n 's/.*Overall exposure level[^:]*: \([0-9.]*\).*/\1/p')
    awk -v x="$exposure" 'BEGIN { exit !(x > 0 && x <= 1.5) }' || fail "exposure of $unit is $exposure, expected at most 1.5"
    say "systemd-analyze verify $unit, exposure $exposure"
  done
  for unit in fieldgate-update.service fieldgate-update.timer; do
    systemd-analyze verify "/usr/lib/systemd/system/$unit" || fail "systemd-analyze verify $unit"
  done
  folder=$(mktemp -d)
  cat /usr/lib/systemd/system/fieldgate.service /usr/share/fieldgate/modules.conf >"$folder/fieldgate.service"
  systemd-analyze verify "$folder/fieldgate.service" || fail "systemd-analyze verify with modules.conf"
  exposure=$(systemd-analyze security --offline=true --no-pager "$folder/fieldgate.service" |
    sed -n 's/.*Overall exposure level[^:]*: \([0-9.]*\).*/\1/p')
  awk -v x="$exposure" 'BEGIN { exit !(x > 0 && x <= 2.1) }' || fail "exposure with modules.conf is $exposure, expected at most 2.1"
  rm -r "$folder"
  say "with modules.conf, exposure $exposure"
fi

# as the unit starts it, less the sandbox: no HOME, its own user
install -d -o fieldgate -g fieldgate -m 0700 /var/cache/fieldgate
log=$(mktemp)
env -i PATH=/usr/bin:/bin CACHE_DIRECTORY=/var/cache/fieldgate setpriv --reuid fieldgate --regid fieldgate --clear-groups \
  /usr/lib/fieldgate/fieldgate serve --config $config --port 0 --json >"$log" 2>/dev/null &
pid=$!
for _ in $(seq 100); do grep -q ready "$log" && break || sleep 0.1; done
grep -q ready "$log" || fail "the service's user cannot serve"
kill "$pid"
wait "$pid" || fail "the service did not stop with 0"
rm -f "$log"
say "serves as its user"

sed -i 's/"info"/"warn"/' $config
dpkg --force-confold -i "$new" >/dev/null
grep -q '"warn"' $config || fail "the upgrade lost the edited settings"
[ "$(fieldgate key list --json)" = "$before" ] || fail "the upgrade lost data"
say "upgrade to $(fieldgate version)"

dpkg -r fieldgate >/dev/null 2>&1
[ -f $config ] && [ -f /var/lib/fieldgate/state.db ] || fail "remove took settings or data"
[ ! -e /usr/lib/fieldgate ] || fail "remove left $(ls /usr/lib/fieldgate)"
say "remove keeps settings and data"

dpkg -i "$new" >/dev/null
[ "$(fieldgate key list --json)" = "$before" ] || fail "data are not found after another install"
dpkg -P fieldgate >/dev/null 2>&1
[ ! -e /etc/fieldgate ] && [ ! -e /var/cache/fieldgate ] && [ ! -e /var/lib/fieldgate-hub ] ||
  fail "purge left settings, cache, or the folder of a hub that never was"
[ -f /var/lib/fieldgate/state.db ] || fail "purge took the data"
rm -r /var/lib/fieldgate
say "purge removes settings and cache, and keeps the data"
