import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import t, { type Test } from 'tap'
import { post } from '../support/start-gateway.js'

const PROGRAM = path.resolve('dist/fieldgate.cjs')
const skip = existsSync(PROGRAM)
  ? false
  : 'skipped: dist/fieldgate.cjs is not there; `npm run build` makes it'
const SESSION = '/api/v1/session/jsonrpc'
const verify = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'session.verify_session_token',
  params: { token: 'x' },
})

/** Runs the built program to its end. */
function run(cwd: string, argv: string[], node = process.execPath) {
  const { status, stdout, stderr } = spawnSync(node, [PROGRAM, ...argv], {
    cwd,
    encoding: 'utf8',
    env: bareEnv(),
  })
  return { status, stdout, stderr }
}

/** Neither settings nor the test loader of this process reach the program. */
function bareEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: process.env.HOME }
}

interface Served {
  child: ChildProcess
  stdout: () => string
  stderr: () => string
  ready: { event: string; url: string }
}

async function serve(t: Test, cwd: string, dataDir: string): Promise<Served> {
  const argv = ['serve', '--data-dir', dataDir, '--host', '127.0.0.1', '--port', '0', '--json']
  const child = spawn(process.execPath, [PROGRAM, ...argv], {
    cwd,
    env: bareEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  while (!stdout.includes('\n')) await once(child.stdout as NodeJS.ReadableStream, 'data')
  return { child, stdout: () => stdout, stderr: () => stderr, ready: JSON.parse(stdout) }
}

async function exitCodeOf({ child }: Served, signal: NodeJS.Signals): Promise<number | null> {
  child.kill(signal)
  const [code] = await once(child, 'exit')
  return code
}

t.test('program: what scripts rely on: init, key create, serve', { skip }, async (t) => {
  const cwd = t.testdir()
  const dataDir = 'data dir é'
  const made = run(cwd, ['init', '--data-dir', dataDir, '--json'])
  t.equal(made.status, 0, made.stderr)
  t.match(JSON.parse(made.stdout), { nodeId: String, apiKey: String, secret: String })
  const key = run(cwd, [
    'key',
    'create',
    '--data-dir',
    dataDir,
    '--name',
    'n',
    '--scope',
    'session:read',
    '--json',
  ])
  const { apiKey, secret } = JSON.parse(key.stdout)
  const served = await serve(t, cwd, dataDir)
  t.match(served.ready, { event: 'ready', url: /^http:\/\/127\.0\.0\.1:\d+$/ })
  const answer = await post(served.ready.url + SESSION, verify, { APIKey: apiKey, Secret: secret })
  t.match(answer, { status: 200, body: { result: { active: false } } })
  t.equal(await exitCodeOf(served, 'SIGTERM'), 0)
  t.equal(served.stdout().trim().split('\n').length, 1, 'one line on stdout, no more')
  for (const name of ['.', 'state.db', 'data.db', 'maps', 'lock.db']) {
    t.equal(statSync(path.join(cwd, dataDir, name)).mode & 0o077, 0, `${name} is private`)
  }
})

t.test('program: SIGUSR1 opens no inspector, in a gateway that serves on', { skip }, async (t) => {
  const served = await serve(t, t.testdir(), 'd')
  const listening = () =>
    readFileSync(`/proc/${served.child.pid}/net/tcp`, 'utf8')
      .split('\n')
      .filter((line) => / 0A /.test(line) && /:240D /.test(line)) // port 9229
  const before = listening()
  for (let times = 0; times < 3; times++) {
    process.kill(served.child.pid ?? 0, 'SIGUSR1')
    t.equal((await fetch(`${served.ready.url}/healthz`)).status, 200)
  }
  t.same(listening(), before, 'nothing listens on the port of the inspector')
  t.notMatch(served.stderr(), /Debugger listening/)
  t.equal(await exitCodeOf(served, 'SIGTERM'), 0)
})

t.test('program: Ctrl-C is clean', { skip }, async (t) => {
  const served = await serve(t, t.testdir(), 'd')
  t.equal(await exitCodeOf(served, 'SIGINT'), 0)
})

/** A call whose body is not whole yet: it runs until `finish`. */
async function startSlowCall(t: Test, url: string, pair: { apiKey: string; secret: string }) {
  const { port } = new URL(url)
  const socket = net.connect(Number(port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  let got = ''
  socket.on('data', (chunk) => {
    got += chunk
  })
  // the gateway asks for the body once it has begun to answer the call
  socket.write(
    `POST ${SESSION} HTTP/1.1\r\nHost: x\r\nAPIKey: ${pair.apiKey}\r\nSecret: ${pair.secret}\r\n` +
      `Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${verify.length}\r\n\r\n`,
  )
  while (!got.includes('100 Continue')) await once(socket, 'data')
  return {
    async finish() {
      socket.write(verify)
      await once(socket, 'close')
      return got
    },
  }
}

/** Asks until the gateway says that it stops. */
async function drainingAnswer(url: string): Promise<Response> {
  for (;;) {
    const response = await fetch(url + SESSION, { method: 'POST' })
    if (response.status !== 401) return response
    await response.arrayBuffer()
  }
}

t.test(
  'program: SIGTERM lets a running call end, and answers new ones 503 meanwhile',
  { skip },
  async (t) => {
    const cwd = t.testdir()
    const pair = JSON.parse(run(cwd, ['init', '--data-dir', 'd', '--json']).stdout)
    const served = await serve(t, cwd, 'd')
    const slow = await startSlowCall(t, served.ready.url, pair)
    const exited = exitCodeOf(served, 'SIGTERM')
    const refused = await drainingAnswer(served.ready.url)
    t.equal(refused.status, 503)
    t.equal(refused.headers.get('connection'), 'close')
    t.equal(refused.headers.get('retry-after'), '5')
    t.match(await slow.finish(), /HTTP\/1\.1 200 OK[\s\S]*"active":false/)
    t.equal(await exited, 0)
  },
)

t.test('program: a second SIGTERM ends it at once', { skip }, async (t) => {
  const cwd = t.testdir()
  const pair = JSON.parse(run(cwd, ['init', '--data-dir', 'd', '--json']).stdout)
  const served = await serve(t, cwd, 'd')
  await startSlowCall(t, served.ready.url, pair)
  const exited = once(served.child, 'exit')
  served.child.kill('SIGTERM')
  t.equal((await drainingAnswer(served.ready.url)).status, 503)
  served.child.kill('SIGTERM')
  t.same(await exited, [null, 'SIGTERM'])
})

t.test('program: sessions outlive a kill, and the directory is not left locked', { skip }, async (t) => {
  const cwd = t.testdir()
  const { apiKey, secret } = JSON.parse(run(cwd, ['init', '--data-dir', 'd', '--json']).stdout)
  const first = await serve(t, cwd, 'd')
  const open = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.open_session', params: {} })
  const opened = await post(first.ready.url + SESSION, open, { APIKey: apiKey, Secret: secret })
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  const second = await serve(t, cwd, 'd')
  const token = { 'Svc-Session-Token': opened.body.result.access_token }
  t.equal((await post(second.ready.url + SESSION, verify, token)).status, 200)
  t.equal(await exitCodeOf(second, 'SIGTERM'), 0)
})

t.test('program: exit codes and where its words go', { skip }, async (t) => {
  const cwd = t.testdir()
  t.match(run(cwd, ['version']), { status: 0, stdout: /^fieldgate \d+\.\d+\.\d+ \(Node 24/, stderr: '' })
  t.match(run(cwd, ['nonsense']), {
    status: 2,
    stdout: '',
    stderr: /^fieldgate: unknown command 'nonsense'[^\n]*\n$/,
  })
  t.match(run(cwd, ['key', 'list']), { status: 1, stdout: '', stderr: /^fieldgate: [^\n]*\n$/ })
})

t.test('program: a reader that goes away is no fault', { skip }, async (t) => {
  const command = `'${process.execPath}' '${PROGRAM}' config print | head -1`
  const { stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd: t.testdir(),
    encoding: 'utf8',
    env: bareEnv(),
  })
  t.match(stdout, /^dataDir = /)
  t.equal(stderr, '')
})

t.test('program: an older Node gets one clear line', { skip: skip || noOldNode() }, async (t) => {
  const { status, stdout, stderr } = run(t.testdir(), ['version'], oldNode() ?? '')
  t.same([status, stdout], [2, ''])
  t.match(stderr, /^fieldgate: expected Node 24 or newer, found \d+\.\d+\.\d+\n$/)
})

/** A Node before 24 that stands about on this machine. */
function oldNode(): string | undefined {
  return ['/usr/bin/node', '/usr/local/bin/node'].find((file) => {
    const { stdout } = spawnSync(file, ['--version'], { encoding: 'utf8' })
    return Number(/^v(\d+)/.exec(stdout ?? '')?.[1] ?? 24) < 24
  })
}

function noOldNode(): string | false {
  return oldNode() === undefined ? 'skipped: no Node before 24 on this machine' : false
}
