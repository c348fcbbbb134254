// Places and moments where a gateway in the field starts: each either works, or ends with one clear line and
// exit code 1.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import Database from 'better-sqlite3'

const NOBODY = 65534
const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
const isRoot = process.getuid() === 0

/** @param say called for each case; a case that this machine cannot produce is reported with the reason */
export async function runRough(program, folder, say) {
  await twoAtOnce(program, folder)
  say('two instances at once; a second one in the same directory is refused')
  await portTaken(program, folder)
  say('port taken: one line, exit 1')
  badSettings(program, folder)
  say('bad settings: one line with every fault, exit 1')
  await wrongClock(program, folder)
  say('wrong clock: serves, and says so in the log and in /readyz')
  if (program.kind !== 'plain') {
    flags(program)
    say('flags of Node: those of the unit of a hub are taken, NODE_OPTIONS is not')
  }
  await inspector(program, folder)
  say('SIGUSR1 opens no inspector')
  if (!isRoot) return say('skipped other users and mounts: they need root')
  await otherUser(program, folder)
  say('unprivileged user without HOME; without permission: one line, exit 1')
  if (!canMount()) return say('skipped mounts: this machine does not let us mount')
  await readOnlyRoot(program, folder)
  say('read-only root and noexec /tmp')
  diskFull(program, folder)
  say('disk full at start: one line, exit 1')
}

async function twoAtOnce(program, folder) {
  const [a, b] = [path.join(folder, 'first'), path.join(folder, 'second')]
  const both = [await program.serve(a), await program.serve(b)]
  for (const { url } of both) assert.equal((await fetch(`${url}/readyz`)).status, 200)
  refused(program, ['serve', '--data-dir', a, '--port', '0'], /another gateway serves this data directory/)
  for (const one of both) await one.stop()
}

/** The executable takes flags of Node by `--node-options` alone: its own come first, which NODE_OPTIONS could not change. */
function flags(program) {
  const [flag] = /--node-options=\S+/.exec(readFileSync('scripts/deb/fieldgate-hub.service', 'utf8')) ?? []
  assert.ok(flag)
  assert.deepEqual(program.run([flag, 'version']), program.run(['version']))
  assert.match(
    program.run(['--node-options=--no-such-flag', 'version'], { allowed: [9] }).stderr,
    /bad option/,
  )
  const env = { NODE_OPTIONS: '--require /nowhere.cjs' }
  assert.deepEqual(program.run(['version'], { env }), program.run(['version']))
}

/** Node's inspector, which SIGUSR1 would open, runs whatever whoever reaches its port sends. */
async function inspector(program, folder) {
  const gateway = await program.serve(path.join(folder, 'first'))
  for (let times = 0; times < 3; times++) {
    process.kill(gateway.pid, 'SIGUSR1')
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200)
  }
  await gateway.stop()
  assert.doesNotMatch(gateway.stderr(), /Debugger listening/)
}

async function portTaken(program, folder) {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address()
  const argv = ['serve', '--data-dir', path.join(folder, 'first'), '--port', String(port)]
  refused(program, argv, new RegExp(`port ${port} of 127\\.0\\.0\\.1 is in use: choose another --port`))
  server.close()
}

function badSettings(program, folder) {
  const file = path.join(folder, 'bad.json')
  writeFileSync(file, '{ "server": { "port": "x" }, "nonsense": 1 }')
  refused(
    program,
    ['serve', '--config', file, '--data-dir', path.join(folder, 'none')],
    /2 fault.*server\.port.*nonsense/,
  )
  assert.ok(!existsSync(path.join(folder, 'none')), 'nothing was made')
  writeFileSync(file, '{ "server": ')
  refused(program, ['serve', '--config', file], /bad\.json: is not JSON/)
}

/**
 * The clock shows a time before the recorded one, as after a power cut of a device without a clock battery.
 */
async function wrongClock(program, folder) {
  const dataDir = path.join(folder, 'first')
  const db = new Database(path.join(dataDir, 'state.db'))
  const future = (Date.now() + 365 * 86_400_000) * 1000
  db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('last_seen_us', ?)").run(String(future))
  db.close()
  const gateway = await program.serve(dataDir)
  const ready = await fetch(`${gateway.url}/readyz`)
  assert.equal(ready.status, 200)
  assert.match(await ready.text(), /"clock".*wall clock is behind/)
  assert.match(gateway.stderr(), /wall clock is behind/)
  await gateway.stop()
}

async function otherUser(program, folder) {
  const own = path.join(folder, 'of nobody')
  mkdirSync(own, { mode: 0o700 })
  chownSync(own, NOBODY, NOBODY)
  for (let dir = folder; dir.length > 1; dir = path.dirname(dir)) openWay(dir)
  const gateway = await program.serve(own, { before: AS_NOBODY })
  assert.equal((await fetch(`${gateway.url}/readyz`)).status, 200)
  await gateway.stop()
  const foreign = path.join(folder, 'root only', 'data')
  mkdirSync(path.dirname(foreign), { mode: 0o755 })
  refused(
    program,
    ['serve', '--data-dir', foreign, '--port', '0'],
    /cannot be made: EACCES.*choose another --data-dir/,
    AS_NOBODY,
  )
}

async function readOnlyRoot(program, folder) {
  const own = path.join(folder, 'writable')
  mkdirSync(own)
  // a project in /tmp would be hidden by a mount there
  const isInTmp = process.cwd().startsWith('/tmp/')
  const temporary = isInTmp ? path.join(own, 'tmp') : '/tmp'
  const mounts = `mount -t tmpfs tmpfs '${own}' && mkdir -p '${temporary}' &&
    mount -t tmpfs -o noexec tmpfs '${temporary}' && mount -o remount,bind,ro / && ! touch /here 2>/dev/null`
  const options = { before: inMounts(mounts), env: isInTmp ? { TMPDIR: temporary } : {} }
  const gateway = await program.serve(path.join(own, 'data'), options)
  assert.equal((await fetch(`${gateway.url}/readyz`)).status, 200)
  await gateway.stop()
}

function diskFull(program, folder) {
  const own = path.join(folder, 'small disk')
  mkdirSync(own)
  const mounts = `mount -t tmpfs -o size=64k tmpfs '${own}'`
  const argv = ['serve', '--data-dir', path.join(own, 'data'), '--port', '0']
  refused(program, argv, /small disk.*(the disk is full|ENOSPC)/, inMounts(mounts))
}

/** Prefix of a command that runs in a separate mount namespace. */
function inMounts(mounts) {
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', `${mounts} && exec "$@"`, 'sh']
}

function canMount() {
  return (
    spawnSync('unshare', ['--mount', '--propagation', 'private', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'])
      .status === 0
  )
}

/** One line on stderr that begins with the program's name, nothing on stdout, exit code 1. */
function refused(program, argv, message, before = []) {
  const [file, ...first] = [...before, ...program.command]
  const { status, stdout, stderr } = spawnSync(file, [...first, ...argv], {
    encoding: 'utf8',
    env: program.env,
    timeout: 60_000 * program.patience,
  })
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
  assert.deepEqual([status, stdout, lines.length], [1, '', 1], stderr)
  assert.match(lines[0], /^fieldgate: /)
  assert.match(lines[0], message)
}

/** Others may pass through a folder on the way, if it is ours to say. */
function openWay(dir) {
  if (dir.startsWith(path.resolve('build'))) chmodSync(dir, 0o755)
}
