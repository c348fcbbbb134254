import { Hono } from 'hono'
import t from 'tap'
import type { HttpEnv } from '../../../src/http/env.js'
import { addConsoleRoutes } from '../../../src/http/pages/console-routes.js'

const FILES: Record<string, string> = {
  'index.html': '<!doctype html>',
  'app-1A2B3C4D.js': 'let a',
  'app-1A2B3C4D.js.gz': 'zipped',
  'secret.pem': 'no type of the console',
}

function consoleApp() {
  const app = new Hono<HttpEnv>()
  addConsoleRoutes(app, {
    facts: async () => ({ version: '1.2.3' }),
    readFile: (name) => (FILES[name] === undefined ? undefined : Buffer.from(FILES[name])),
  })
  return (path: string, headers: Record<string, string> = {}) => app.request(path, { headers })
}

t.test('console: the page under a strict policy, always asked for again', async (t) => {
  const get = consoleApp()
  const page = await get('/console/')
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.equal(page.headers.get('cache-control'), 'no-cache')
  const policy = page.headers.get('content-security-policy') ?? ''
  t.match(policy, /default-src 'self'.*script-src 'self';.*worker-src 'self';/)
  t.notMatch(policy, /unsafe|https?:|\*/)
  const etag = page.headers.get('etag') ?? ''
  t.equal((await get('/console/', { 'If-None-Match': etag })).status, 304)
  const bare = await get('/console')
  t.equal(bare.status, 308)
  t.equal(bare.headers.get('location'), '/console/')
  t.equal((await get('/', { Accept: 'text/html,*/*' })).headers.get('location'), '/console/')
  t.equal((await get('/')).status, 404)
})

t.test(
  'console: files with a hash in their names are kept for good, gzipped for who takes that',
  async (t) => {
    const get = consoleApp()
    const plain = await get('/console/app-1A2B3C4D.js')
    t.equal(await plain.text(), 'let a')
    t.match(plain.headers.get('cache-control') ?? '', /immutable/)
    const zipped = await get('/console/app-1A2B3C4D.js', { 'Accept-Encoding': 'br, gzip' })
    t.equal(zipped.headers.get('content-encoding'), 'gzip')
    t.equal(await zipped.text(), 'zipped')
    t.not(zipped.headers.get('etag'), plain.headers.get('etag'))
    const refused = await get('/console/app-1A2B3C4D.js', { 'Accept-Encoding': 'gzip;q=0' })
    t.equal(refused.headers.get('content-encoding'), null)
  },
)

t.test('console: other names and methods are refused', async (t) => {
  const get = consoleApp()
  for (const path of ['/console/nothing.js', '/console/secret.pem', '/console/..%2Findex.html'])
    t.equal((await get(path)).status, 404, path)
  t.same(await (await get('/console/facts.json')).json(), { version: '1.2.3' })
})
