import { execFile, spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../support/start-gateway.js'

const run = promisify(execFile)

/** The first Python that has requests: Debian's own may stand behind another one. */
const python = ['python3', '/usr/bin/python3'].find(
  (program) => spawnSync(program, ['-c', 'import requests'], { stdio: 'ignore' }).status === 0,
)
const skip = python === undefined ? 'skipped: no python3 with the module requests' : false

t.test('scripts/examples/tour.py runs as written, twice', { skip }, async (t) => {
  const gateway = await startGateway(t)
  const env = {
    ...process.env,
    FIELDGATE_URL: gateway.url,
    FIELDGATE_KEY: gateway.admin.apiKey,
    FIELDGATE_SECRET: gateway.admin.secret,
  }
  for (const round of [1, 2]) {
    const { stdout } = await run(python ?? '', [path.resolve('scripts/examples/tour.py')], { env })
    t.match(stdout, /table: Of the 5000 records uploaded, 0 were overwritten and 5000 were inserted\./)
    t.match(stdout, /features: 2501 in the western half/)
    t.match(stdout, /citation: tour_[\d.]+ still says 2\.4/, `round ${round}`)
    t.match(stdout, /model: 8000 bytes that begin with weights/)
  }
  const wrong = { ...env, FIELDGATE_SECRET: 'wrong' }
  await t.rejects(run(python ?? '', [path.resolve('scripts/examples/tour.py')], { env: wrong }), {
    code: 1,
    stderr: /UNAUTHENTICATED/,
  })
})

t.test('scripts/examples/changes.py prints changes, with Python alone', { skip }, async (t) => {
  const gateway = await startGateway(t)
  const loader = '/api/v1/dataloaderapi/jsonrpc'
  const put = (k: number) =>
    gateway.call(loader, 'loaderwebapi.add_record', {
      ...{ data_name: 'x', record_set: [{ type: 'Feature', geometry: null, properties: { k } }] },
    })
  await gateway.call(loader, 'loaderwebapi.register_loader', {
    ...{ data_name: 'x', record_def: { k: { udt_name: 'int4' } }, unique_columns: ['k'] },
  })
  await put(1)
  const { apiKey: FIELDGATE_KEY, secret: FIELDGATE_SECRET } = gateway.admin
  const env = { ...process.env, FIELDGATE_URL: gateway.url, FIELDGATE_KEY, FIELDGATE_SECRET }
  const script = path.resolve('scripts/examples/changes.py')
  const child = spawn(python ?? '', [script, 'x', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  t.match((await lines.next()).value, /^1 .*"k": 1/)
  await put(2)
  t.match((await lines.next()).value, /^2 .*"k": 2/)
  await t.rejects(run(python ?? '', [script, 'none'], { env }), { code: 1, stderr: /UNKNOWN_TABLE/ })
})
