import { execFile, spawnSync } from 'node:child_process'
import path from 'node:path'
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
