import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { cli, printed, type RunningCli, startCli } from '../../support/run-cli.js'
import { post } from '../../support/start-gateway.js'

const SESSION = '/api/v1/session/jsonrpc'

/** Starts the verb; it is stopped at the end of the test, also when that fails. */
function start(t: Test, cwd: string, argv: string[] = [], isTTY = true): RunningCli {
  const running = startCli(cwd, ['serve', '--port', '0', ...argv], {}, isTTY)
  t.teardown(() => stop(running))
  return running
}

/** Starts the verb and waits until it reports that it is ready. */
async function serve(t: Test, cwd: string, argv: string[] = []) {
  const running = start(t, cwd, ['--json', ...argv])
  const ready = JSON.parse(await printed(running, /"ready"/))
  return { running, ready: ready as { event: string; url: string; apiKey?: string; secret?: string } }
}

async function stop(running: RunningCli, signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM') {
  running.signal(signal)
  return await running.ended
}

const verify = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'session.verify_session_token',
  params: { token: 'x' },
})

t.test('serve --json: one line when ready; only the first start prints the admin key', async (t) => {
  const cwd = t.testdir()
  const first = await serve(t, cwd)
  t.match(first.ready, {
    event: 'ready',
    url: /^http:\/\/127\.0\.0\.1:\d+$/,
    apiKey: String,
    secret: /^fgs_/,
  })
  const headers = { APIKey: first.ready.apiKey ?? '', Secret: first.ready.secret ?? '' }
  t.match(await post(first.ready.url + SESSION, verify, headers), {
    status: 200,
    body: { result: { active: false } },
  })
  const ended = await stop(first.running)
  t.equal(ended.code, 0)
  t.equal(ended.stdout.split('\n').length, 2, 'one line and no more')
  const second = await serve(t, cwd)
  t.same(Object.keys(second.ready), ['event', 'url'])
  t.equal((await post(second.ready.url + SESSION, verify, headers)).status, 200, 'the key works on')
  t.equal((await stop(second.running, 'SIGINT')).code, 0)
})

t.test('serve: a terminal shows the address, a link that signs in once, and the key once', async (t) => {
  const cwd = t.testdir()
  const running = start(t, cwd)
  await printed(running, /shown this once/)
  const page = running.stdout()
  t.match(page, /\n {2}API key {2}\S{36}\n {2}Secret {3}fgs_\S+\n/)
  const [, url = '', code = ''] = /Sign in {2}(http:\S+)\/console\/#sign-in=(\S+)/.exec(page) ?? []
  const exchange = async (body: string) => {
    const response = await fetch(`${url}/console/sign-in`, { method: 'POST', body })
    return { status: response.status, body: (await response.json()) as { result?: { access_token: string } } }
  }
  t.equal((await exchange('{"code":"guess"}')).status, 404)
  t.equal((await exchange('no JSON')).status, 404)
  const { status, body } = await exchange(JSON.stringify({ code }))
  t.equal(status, 200)
  const headers = { 'Svc-Session-Token': body.result?.access_token ?? '' }
  t.equal((await post(url + SESSION, verify, headers)).status, 200, 'the session works')
  t.equal((await exchange(JSON.stringify({ code }))).status, 404, 'the link works once')
  t.equal((await stop(running)).code, 0)
  t.notMatch(running.stderr(), new RegExp(code), 'it is not logged')
  const again = start(t, cwd)
  await printed(again, /within ten minutes/)
  t.notMatch(again.stdout(), /fgs_/)
  await stop(again)
})

t.test('serve: without a terminal the secret is in a private file, which the log names', async (t) => {
  for (const argv of [[], ['--json'], ['--demo']]) {
    const cwd = t.testdir()
    const running = start(t, cwd, argv, false)
    await printed(running, /"ready"|Console: .*\n/)
    const file = path.join(cwd, 'data/first-admin-key')
    const [, apiKey = '', secret = ''] =
      /^APIKey: (\S+)\nSecret: (\S+)\n$/.exec(readFileSync(file, 'utf8')) ?? []
    t.equal(statSync(file).mode & 0o777, 0o600)
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(running.stdout()) ?? []
    const headers = { APIKey: apiKey, Secret: secret }
    t.equal((await post(url + SESSION, verify, headers)).status, 200, 'the key in it works')
    t.equal((await stop(running)).code, 0)
    t.notMatch(running.stdout() + running.stderr(), /fgs_|Session-Token/, 'nothing secret was printed')
    const lines = running
      .stderr()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.match(
      lines.filter(({ act }) => act === 'first-key'),
      [{ audit: true, apiKey, secretFile: file, msg: /which this user alone can read/ }],
    )
    if (argv.includes('--json'))
      t.match(JSON.parse(running.stdout()), { event: 'ready', apiKey, secretFile: file })
    else t.ok(running.stdout().includes(file))
    if (argv.includes('--demo')) t.ok(running.stdout().includes(`curl -s -H @'${file}' `), 'curl reads it')
    const again = start(t, cwd, argv, false)
    await printed(again, /"ready"|Console: .*\n/)
    await stop(again)
    t.notMatch(again.stdout() + again.stderr(), /fgs_|Session-Token|first-key/, 'nor later')
  }
})

t.test('serve: one gateway per data directory; keys can be created while it runs', async (t) => {
  const cwd = t.testdir()
  const { running, ready } = await serve(t, cwd)
  const second = await cli(cwd, ['serve', '--port', '0'])
  t.match(second, {
    code: 1,
    stdout: '',
    stderr: /another gateway serves this data directory .*: stop it, or choose another --data-dir\n$/,
  })
  t.match(await cli(cwd, ['init', '--json']), { code: 0 })
  const made = await cli(cwd, ['key', 'create', '--name', 'n', '--scope', 'session:read', '--json'])
  const { apiKey, secret } = JSON.parse(made.stdout)
  t.equal(
    (await post(ready.url + SESSION, verify, { APIKey: apiKey, Secret: secret })).status,
    200,
    'at once',
  )
  await cli(cwd, ['key', 'revoke', apiKey])
  t.equal(
    (await post(ready.url + SESSION, verify, { APIKey: apiKey, Secret: secret })).status,
    401,
    'at once',
  )
  await stop(running)
})

t.test('serve: two data directories side by side', async (t) => {
  const cwd = t.testdir()
  const [a, b] = await Promise.all([
    serve(t, cwd, ['--data-dir', 'a b']),
    serve(t, cwd, ['--data-dir', '日本']),
  ])
  for (const { ready } of [a, b]) t.equal((await fetch(`${ready.url}/healthz`)).status, 200)
  t.same(
    (await Promise.all([stop(a.running), stop(b.running)])).map(({ code }) => code),
    [0, 0],
  )
})

t.test('serve: an address that cannot be used fails with advice and releases the directory', async (t) => {
  const cwd = t.testdir()
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const table: [argv: string[], line: RegExp][] = [
    [['--port', String(port)], new RegExp(`port ${port} of 127.0.0.1 is in use: choose another --port`)],
    [['--host', '203.0.113.7', '--port', '0'], /203\.0\.113\.7 is not an address of this machine/],
  ]
  for (const [argv, line] of table) {
    const { code, stderr } = await cli(cwd, ['serve', ...argv])
    t.equal(code, 1)
    t.match(stderr.trim().split('\n').at(-1), line)
  }
  const { running } = await serve(t, cwd)
  t.equal((await stop(running)).code, 0)
})

t.test('serve: answers 503 with Retry-After until everything is open', async (t) => {
  const cwd = t.testdir()
  const free = createServer()
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
  const { port } = free.address() as { port: number }
  await new Promise((resolve) => free.close(resolve))
  t.equal((await cli(cwd, ['init'])).code, 0)
  // another program holds the database: the gateway listens, and waits for it
  const other = new Database(path.join(cwd, 'data', 'data.db'))
  t.teardown(() => other.close())
  other.pragma('journal_mode = WAL')
  other.exec('BEGIN IMMEDIATE')
  const running = startCli(cwd, ['serve', '--json', '--port', String(port)])
  t.teardown(() => stop(running))
  const url = `http://127.0.0.1:${port}${SESSION}`
  let first: Response | undefined
  while (first === undefined) {
    first = await fetch(url, { method: 'POST' }).catch(() => undefined)
    await sleep(5)
  }
  t.equal(first.status, 503)
  t.equal(first.headers.get('retry-after'), '1')
  t.match(await first.json(), {
    error: { message: 'The gateway is starting', data: { name: 'UNAVAILABLE' } },
  })
  other.exec('ROLLBACK')
  await printed(running, /"ready"/)
  t.equal((await fetch(url, { method: 'POST' })).status, 401)
})

t.test('serve: SIGHUP applies the settings that can change and names the others', async (t) => {
  const cwd = t.testdir()
  const file = path.join(cwd, 'edge.config.json')
  writeFileSync(file, '{}')
  const { running } = await serve(t, cwd)
  running.signal('SIGHUP')
  await printed(running, /"reloaded"/)
  writeFileSync(file, '{"limits":{"batch":5}}')
  running.signal('SIGHUP')
  await printed(running, /"needRestart":\["limits\.batch"\]/)
  writeFileSync(file, '{"limits":{"batch":-5}}')
  running.signal('SIGHUP')
  await printed(running, /the settings have faults; the previous settings stay/)
  writeFileSync(file, '{')
  running.signal('SIGHUP')
  await printed(running, /is not JSON/)
  t.equal((await stop(running)).code, 0, 'and it serves on')
})

t.test('serve --demo: a terminal shows one line to try, which works, and no log line', async (t) => {
  const cwd = t.testdir()
  const running = start(t, cwd, ['--demo'])
  await printed(running, /fieldgate demo route\n.*\n/)
  t.equal(running.stderr(), '', 'no log line between')
  t.match(
    running.stdout(),
    /\n {11}curl -s -H @'data\/demo\/headers' -d @'data\/demo\/route\.json' http:\/\/127\.0\.0\.1:\d+\/api\/v1\/svcapi\/jsonrpc\n/,
  )
  t.notMatch(running.stdout(), /Session-Token/, 'no secret on a command line')
  t.equal(statSync(path.join(cwd, 'data/demo/headers')).mode & 0o777, 0o600)
  const told = await cli(cwd, ['demo', 'route', '--data-dir', 'data'])
  t.match(
    told.stdout,
    /^Fastest: +\d+\.\d km, \d+ min \d\d s, highest risk 10\nAround the flood: \d+\.\d km, .*, highest risk 0\n$/,
  )
  const { fastest, around } = JSON.parse(
    (await cli(cwd, ['demo', 'route', '--data-dir', 'data', '--json'])).stdout,
  )
  t.ok(around.length > fastest.length)
  await stop(running)
  t.match(await cli(cwd, ['demo', 'route', '--data-dir', 'data']), {
    code: 1,
    stderr: /the demo does not answer at http.*: start it with serve --demo/,
  })
  t.match(await cli(cwd, ['demo', 'route', '--data-dir', 'other']), {
    code: 1,
    stderr: /there is no demo here/,
  })
})

t.test(
  'serve --demo: without a terminal the printed commands work, and the second route avoids the flood',
  async (t) => {
    const cwd = t.testdir()
    const running = start(t, cwd, ['--demo'], false)
    await printed(running, /# cells of the flood\ncurl .*\n/)
    const answers = []
    for (const { url, headers, body } of curlLines(running.stdout()))
      answers.push(await post(url, body, headers))
    t.same(
      answers.map(({ status }) => status),
      [200, 200, 200],
    )
    t.same(
      answers.map(({ body }) => body.error),
      [undefined, undefined, undefined],
    )
    const [through, round, flood] = answers.map(({ body }) => body.result)
    const boxes = flood.features.map((feature: Cell) => boxOf(feature.geometry.coordinates[0]))
    t.ok(boxes.length > 5 && flood.features.every((feature: Cell) => feature.properties.risk === 10))
    t.ok(isInside(through, boxes), 'the first route crosses the flood')
    t.notOk(isInside(round, boxes), 'the second does not')
    t.ok(round.length > through.length && round.max_risk === 0)
    const [first] = curlLines(running.stdout())
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'model_store.list', params: {} })
    const stores = await post(
      `${new URL(first?.url ?? '').origin}/api/v2/model_store/jsonrpc`,
      list,
      first?.headers ?? {},
    )
    t.match(stores.body.result, [{ model_store_ddc: 'demo' }], 'a model store to try')
    await stop(running)

    const maps = path.join(cwd, 'data/maps')
    const before = readdirSync(maps).map((name) => [name, statSync(path.join(maps, name)).mtimeMs])
    const again = start(t, cwd, ['--demo'], false)
    await printed(again, /# cells of the flood\ncurl .*\n/)
    for (const { url, headers, body } of curlLines(again.stdout()))
      t.equal((await post(url, body, headers)).status, 200)
    t.same(
      readdirSync(maps).map((name) => [name, statSync(path.join(maps, name)).mtimeMs]),
      before,
      'made once',
    )
    await stop(again)
  },
)

t.test('serve: starts despite a map file that is not a map', async (t) => {
  const cwd = t.testdir()
  mkdirSync(path.join(cwd, 'data/maps'), { recursive: true })
  writeFileSync(path.join(cwd, 'data/maps/broken.graph'), readFileSync('package.json'))
  const { running, ready } = await serve(t, cwd)
  t.equal((await fetch(`${ready.url}/healthz`)).status, 200)
  t.match(await (await fetch(`${ready.url}/readyz`)).text(), /broken\.graph/)
  await stop(running)
})

interface Cell {
  geometry: { coordinates: [number, number][][] }
  properties: { risk: number }
}

/** Arguments of each curl line, as a shell splits them. */
function curlLines(text: string): { url: string; headers: Record<string, string>; body: string }[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('curl '))
    .map((line) => ({
      url: line.slice(line.lastIndexOf(' ') + 1),
      headers: {
        ...Object.fromEntries(
          [...line.matchAll(/-H '([^:']+): ([^']*)'/g)].map((match) => [match[1], match[2]]),
        ),
        ...headersOf(/-H @'([^']+)'/.exec(line)?.[1]),
      },
      body: /-d '([^']*)'/.exec(line)?.[1] ?? '',
    }))
}

/** Headers in a file. */
function headersOf(file: string | undefined): Record<string, string> {
  if (file === undefined) return {}
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]))
}

function boxOf(ring: [number, number][] = []): [number, number, number, number] {
  const [lngs, lats] = [ring.map(([lng]) => lng), ring.map(([, lat]) => lat)]
  return [Math.min(...lngs), Math.min(...lats), Math.max(...lngs), Math.max(...lats)]
}

/** Returns true when a point of a route is inside one of the boxes. */
function isInside(
  route: { geojson: { features: { geometry: { coordinates: [number, number][] } }[] } },
  boxes: [number, number, number, number][],
): boolean {
  return route.geojson.features
    .flatMap((feature) => feature.geometry.coordinates)
    .some(([lng, lat]) =>
      boxes.some(([west, south, east, north]) => lng > west && lng < east && lat > south && lat < north),
    )
}
