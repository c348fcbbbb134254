import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { connect, FL, LOCAL_SYNC, modelsOf, transfersOf, until } from '../../support/models.js'
import { cli } from '../../support/run-cli.js'
import { startGateway } from '../../support/start-gateway.js'

t.test('cli model: put, list and get, without a gateway', async (t) => {
  const dir = t.testdir()
  const data = ['--data-dir', path.join(dir, 'data')]
  const run = (...argv: string[]) => cli(dir, [...argv, ...data])
  t.match(await run('model', 'list'), { code: 1, stderr: /run `fieldgate init`/ })
  await run('init')
  const bytes = randomBytes(5000)
  writeFileSync(path.join(dir, 'm.dat'), bytes)
  const put = await run(
    'model',
    'put',
    'm.dat',
    '--store',
    'rain',
    '--kind',
    'k',
    '--meta',
    '{"a":1}',
    '--json',
  )
  t.equal(put.code, 0, put.stderr)
  const info = JSON.parse(put.stdout)
  t.match(info, {
    model_state: 10,
    model_kind: 'k',
    model_meta: { a: 1 },
    model_size: 5000,
    tenant_id: 'command line',
  })
  t.match(await run('model', 'put', 'm.dat', '--store', 'rain', '--aggregated', '--round', '4'), {
    code: 0,
    stdout: /^[0-9a-f-]{36} {2}5\.0 kB {2}SHA-256 [0-9a-f]{64}\n$/,
  })
  t.match(await run('model', 'list'), { code: 0, stdout: /^rain {2}\(rain_\d/ })
  t.match((await run('model', 'list', '--store', 'rain')).stdout, /10 put here.*\n.*30 aggregated/)
  t.equal(JSON.parse((await run('model', 'list', '--store', 'rain', '--json')).stdout).length, 2)
  t.match(await run('model', 'get', info.model_id, '-o', 'out.dat'), { code: 0, stderr: '' })
  t.ok(readFileSync(path.join(dir, 'out.dat')).equals(bytes))
  t.match(await run('model', 'get', info.model_id, '-o', 'out.dat'), { code: 1, stderr: /EEXIST|exist/ })
  t.match(await run('model', 'get', 'nothing'), { code: 1, stderr: /no model has the id/ })
  t.match(await run('model', 'put', 'none.dat', '--store', 'rain'), {
    code: 1,
    stderr: /none\.dat does not exist/,
  })
  t.match(await run('model', 'put', 'm.dat', '--store', 'rain', '--meta', '[]'), {
    code: 2,
    stderr: /JSON object/,
  })
  t.match(await run('model', 'list', '--store', 'snow'), { code: 1, stderr: /no model store is named snow/ })
})

t.test('cli sync: what would be lost, pause, resume, retry and cancel beside a gateway', async (t) => {
  const dir = t.testdir()
  mkdirSync(path.join(dir, 'a'))
  const settings = { sync: { ...LOCAL_SYNC, retryBaseS: 60, retryCapS: 600 } }
  const edge = await startGateway(t, { settings, dataDir: path.join(dir, 'edge') })
  const upstream = await startGateway(t, { dataDir: path.join(dir, 'up') })
  const run = (...argv: string[]) => cli(dir, [...argv, '--data-dir', edge.dataDir])
  t.match(await run('sync', 'status'), { code: 0, stdout: /Nothing would be lost/ })
  const id = await connect(edge, { url: 'http://127.0.0.1:9', admin: upstream.admin })
  writeFileSync(path.join(dir, 'm.dat'), randomBytes(200_000))
  for (let i = 0; i < 2; i++) await run('model', 'put', 'm.dat', '--store', 'rain', '--kind', `${i}`)
  await until(
    'a running gateway takes it up by itself',
    async () => (await transfersOf(edge))[0].attempts > 0,
  )
  const { stdout } = await run('sync', 'status')
  t.match(stdout, /2 models \(400 kB\) would be lost with this device; the oldest has waited \d+ s\./)
  t.match(stdout, /No rate was measured yet/)
  t.match(
    stdout,
    /upstream 1 feedback of rain to http:\/\/127\.0\.0\.1:9.*last error: The upstream cannot be reached/,
  )
  const status = JSON.parse((await run('sync', 'status', '--json')).stdout)
  t.match(status, { isPaused: false, atRisk: { models: 2, bytes: 400_000, timeLeftS: null } })
  t.match(await run('sync', 'pause'), { code: 0, stdout: /Paused/ })
  t.match((await run('sync', 'status')).stdout, /^PAUSED/)
  await edge.call(FL, 'fl.update_upstream_info', { id, upstream_endpoint: upstream.url })
  t.match(await run('sync', 'cancel', '2'), { code: 0, stdout: /Transfer 2 is cancelled/ })
  t.match(await run('sync', 'resume'), { code: 0 })
  t.match(await run('sync', 'retry'), { code: 0 })
  await until('the first arrives', async () => (await modelsOf(upstream)).length === 1)
  await until('it is told', async () => (await transfersOf(edge))[0].state === 'delivered')
  t.match(await run('sync', 'retry', '2'), { code: 0 })
  await until('the second arrives', async () => (await modelsOf(upstream)).length === 2)
  t.match(await run('sync', 'retry', '1'), { code: 1, stderr: /is already delivered/ })
  t.match(await run('sync', 'cancel', '1'), { code: 1, stderr: /is already delivered/ })
  t.match(await run('sync', 'cancel', '77'), { code: 1, stderr: /no transfer has the id 77/ })
  t.match(await run('sync', 'cancel', 'x'), { code: 2 })
})
