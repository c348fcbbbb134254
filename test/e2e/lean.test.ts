import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { post } from '../support/start-gateway.js'

const PROGRAM = path.resolve('dist/fieldgate.cjs')
const skip = existsSync(PROGRAM)
  ? false
  : 'skipped: dist/fieldgate.cjs is not there; `npm run build` makes it'
/** Tells on SIGUSR2 whether Node has loaded its own undici, whose Request, Response and Headers take 11 MB. */
const WATCH = `process.on('SIGUSR2', () => {
  process.stderr.write(process.moduleLoadList.some((name) => name.endsWith('deps/undici/undici')) ? 'whole' : 'light')
})`

t.test('program: probes, documents, metrics and calls go without the whole of fetch', { skip }, async (t) => {
  const cwd = t.testdir()
  const watch = path.join(cwd, 'watch.cjs')
  writeFileSync(watch, WATCH)
  const argv = [
    '-r',
    watch,
    PROGRAM,
    'serve',
    '--data-dir',
    cwd,
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '--json',
  ]
  const env = { PATH: process.env.PATH, FIELDGATE_LOG__LEVEL: 'error' }
  const child = spawn(process.execPath, argv, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  const { url, apiKey, secret } = JSON.parse(String(line))
  const look = async () => {
    child.kill('SIGUSR2')
    return String((await once(child.stderr, 'data'))[0])
  }

  for (const where of ['/healthz', '/readyz', '/openrpc.json', '/openapi.json', '/metrics', '/nothing']) {
    const response = await fetch(url + where, { headers: { APIKey: apiKey, Secret: secret } })
    t.equal(response.status, where === '/nothing' ? 404 : 200, where)
    t.ok(response.headers.get('x-request-id'), where)
    await response.arrayBuffer()
  }
  const call = { jsonrpc: '2.0', id: 1, method: 'session.open_session', params: {} }
  const opened = await post(`${url}/api/v1/session/jsonrpc`, JSON.stringify(call), {
    APIKey: apiKey,
    Secret: secret,
  })
  t.match(opened.body, { result: { access_token: String } })
  t.equal(await look(), 'light')

  // hono makes a whole response of this one: the way to it must be open still
  const head = await fetch(`${url}/healthz`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(await look(), 'whole')
  t.equal((await fetch(`${url}/healthz`)).status, 200)
})
