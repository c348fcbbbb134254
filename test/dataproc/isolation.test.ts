import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { buildSync } from 'esbuild'
import t, { type Test } from 'tap'

const NOBODY = 65534
const isRoot = process.getuid?.() === 0

/** What a hostile module tries from within: `$1` is a process of the gateway, `$2` the data directory. */
const SEEK = `cat "$2/../server key.pem" "$2"/../backups/*; ls "$2/../backups"
cat ../secret.key "$2/secret.key" "$2/sessions/one/kept" ../sessions/*/kept
ls "$2" "$2/.." | grep -c secret.key
ln -s "$2/sessions/one" session/one; cat session/one/kept
tr '\\0' '\\n' < /proc/$1/environ; cat /proc/$1/root"$2"/secret.key /proc/$1/cwd/secret.key
umount "$2"; umount /proc; mount -t tmpfs tmpfs "$2"; cat "$2/secret.key"
echo changed > ../module/program && echo the module was changed
echo mine > work/mine && cat work/mine; id -u`

/** Finds out what the system allows, then runs a hostile module that way, and prints what it found. */
const DRIVER = `import { execFile } from 'node:child_process'
import { findIsolation } from './src/dataproc/isolation.js'
const [data = '', seek = ''] = process.argv.slice(2)
const at = (name: string) => data + '/' + name
async function main() {
  process.chdir(data)
  const { kind, hasOwnProc, reason, wrap } = await findIsolation({ mode: 'auto', network: 'none', needed: [process.execPath], dataDir: data, scratchDir: at('runs'), searchPath: process.env.PATH ?? '',
    hidden: [data + '/../backups', data + '/../server key.pem', data + '/../not there', data + '/..', '/'] })
  const dirs = { root: at('run'), work: at('run/work'), session: at('sessions/two'), application: at('application'), module: at('module') }
  const { file, args } = wrap({ file: 'sh', args: ['-c', seek, 'sh', String(process.pid), data] }, dirs)
  execFile(file, [...args], { cwd: dirs.root }, (_error, stdout, stderr) =>
    console.log(JSON.stringify({ kind, hasOwnProc, reason, stdout, stderr })))
}
void main()`

interface Told {
  kind: string
  hasOwnProc: boolean
  reason: string | null
  stdout: string
  stderr: string
}

/**
 * A program and a data directory that another user may use too: a service runs as nobody's user and never as
 * root.
 */
function prepare(t: Test): { node: string; driver: string; data: string } {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-isolation-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  chmodSync(dir, 0o755)
  const driver = path.join(dir, 'driver.cjs')
  buildSync({
    stdin: { contents: DRIVER, resolveDir: path.resolve('.'), loader: 'ts' },
    ...{ bundle: true, platform: 'node', format: 'cjs', outfile: driver, logLevel: 'error' },
  })
  const node = path.join(dir, 'node')
  copyFileSync(process.execPath, node)
  const data = path.join(dir, 'data')
  for (const name of [
    'run/work',
    'run/session',
    'run/application',
    'sessions/one',
    'sessions/two',
    'application',
    'module',
    'runs',
  ])
    mkdirSync(path.join(data, name), { recursive: true })
  writeFileSync(path.join(data, 'secret.key'), 'the key of the gateway\n')
  writeFileSync(path.join(dir, 'server key.pem'), 'the key of the gateway\n')
  mkdirSync(path.join(dir, 'backups'))
  writeFileSync(path.join(dir, 'backups/secret.key'), 'the key of the gateway\n')
  if (isRoot)
    spawnSync('chown', [`${NOBODY}:${NOBODY}`, path.join(dir, 'server key.pem'), path.join(dir, 'backups')])
  writeFileSync(path.join(data, 'sessions/one/kept'), 'a secret of one\n')
  writeFileSync(path.join(data, 'module/program'), 'as it was\n')
  if (isRoot) spawnSync('chown', ['-R', `${NOBODY}:${NOBODY}`, data])
  return { node, driver, data }
}

const AS_SERVICE = isRoot
  ? `setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all`
  : ''

/** @returns undefined when the system does not let the test make these surroundings */
function seekWithin(t: Test, unshareArgs: readonly string[], before: string): Told | undefined {
  const { node, driver, data } = prepare(t)
  const script = `${before}\nexec ${AS_SERVICE} "$@"`
  const argv = [...unshareArgs, 'sh', '-c', `set -e\n${script}`, 'sh', node, driver, data, SEEK]
  const { stdout, stderr, error } = spawnSync('unshare', argv, {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, MARK: 'environment of the gateway' },
  })
  if (stdout !== '') return JSON.parse(stdout) as Told
  t.pass('isolation', { skip: `this system cannot set up the test: ${error?.message ?? stderr}` })
  return undefined
}

function sawNothing(t: Test, { stdout, stderr }: Told): void {
  t.match(stdout, /^mine$/m, `it ran: ${stderr}`)
  t.match(stdout, new RegExp(`^${isRoot ? NOBODY : process.getuid?.()}$`, 'm'), 'as the usual user')
  t.notMatch(stdout, /the key of the gateway|a secret of one|environment of the gateway|was changed/)
  t.match(stdout, /^0$/m, 'no name of the data directory')
}

t.test('isolation: by namespaces where an ordinary user may make them', async (t) => {
  const told = seekWithin(t, isRoot ? ['--mount'] : ['--user', '--map-current-user', '--mount'], '')
  if (told === undefined) return
  if (told.kind === 'none') return t.pass('isolation', { skip: `no namespaces here: ${told.reason}` })
  t.match(told, { kind: 'namespaces', hasOwnProc: true, reason: null })
  sawNothing(t, told)
})

t.test('isolation: also where parts of /proc are covered, as a systemd unit does', async (t) => {
  const cover = 'mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys'
  const told = seekWithin(t, isRoot ? ['--mount'] : ['--user', '--map-root-user', '--mount'], cover)
  if (told === undefined) return
  if (told.kind === 'none') return t.pass('isolation', { skip: `no namespaces here: ${told.reason}` })
  t.match(told, { kind: 'namespaces', hasOwnProc: false, reason: null })
  if (isRoot) sawNothing(t, told)
})

t.test(
  'isolation: none where namespaces are forbidden, and it is said why and what that means',
  async (t) => {
    const forbid = 'echo 0 > /proc/sys/user/max_user_namespaces'
    const { node, driver, data } = prepare(t)
    const argv = [
      '--user',
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      `set -e\n${forbid}\nexec "$@"`,
      'sh',
      node,
      driver,
      data,
      SEEK,
    ]
    if (isRoot) spawnSync('chown', ['-R', '0:0', data])
    const { stdout, stderr, error } = spawnSync('unshare', argv, { encoding: 'utf8' })
    if (stdout === '')
      return t.pass('isolation', { skip: `this system cannot set up the test: ${error?.message ?? stderr}` })
    const told = JSON.parse(stdout) as Told
    t.match(told, { kind: 'none', hasOwnProc: false, reason: /^unshare: unshare failed: .{5,200}$/ })
    t.match(told.stdout, /a secret of one/, 'a module is a program of this user like any other')
  },
)
