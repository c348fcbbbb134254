import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { knownSecrets } from '../../../src/cli/support/secrets.js'
import { layoutOf } from '../../../src/files/layout.js'
import { createMaintenance } from '../../../src/storage/sqlite/maintenance/maintenance.js'
import { connect, MODELS } from '../../support/models.js'
import { cli } from '../../support/run-cli.js'
import { startGateway } from '../../support/start-gateway.js'

t.test('support: the archive holds no secret of the data directory or of the log', async (t) => {
  const cwd = t.testdir()
  const gateway = await startGateway(t, { dataDir: path.join(cwd, 'data') })
  const upstream = {
    url: 'https://hub.example',
    admin: { apiKey: 'the-key', secret: 'a-"quoted"-upstream-secret' },
  }
  await gateway.call(MODELS, 'model_store.create', { model_store_ddc: 'rain' })
  await connect(gateway, upstream)
  const { body } = await gateway.call('/api/v1/session/jsonrpc', 'session.open_session', {})
  const token = body.result.access_token as string
  const { secret } = gateway.admin
  const log = [
    { level: 'error', msg: `wrong secret ${secret}`, authorization: 'Basic dXNlcjpwYXNzd29yZA==' },
    { level: 'warn', msg: `asked https://me:letmein@hub.example/ with ${upstream.admin.secret}`, token },
    { level: 'info', msg: 'an ordinary line' },
    { level: 'error', msg: 'a fault that helps' },
  ]
  writeFileSync(path.join(cwd, 'gateway.log'), `${log.map((line) => JSON.stringify(line)).join('\n')}\n`)
  const run = await cli(cwd, ['support', '-o', 'out.tar.gz', '--log', 'gateway.log', '--offline', '--json'])
  t.equal(run.code, 0, run.stderr)
  const text = gunzipSync(readFileSync(path.join(cwd, 'out.tar.gz'))).toString('latin1')
  const secrets = [
    ...(await knownSecrets(layoutOf(gateway.dataDir), createMaintenance().facts)),
    secret,
    token,
    upstream.admin.secret,
    'dXNlcjpwYXNzd29yZA',
    'letmein',
    readFileSync(path.join(gateway.dataDir, 'secret.key'), 'utf8').trim().split(' ')[1] ?? '',
  ]
  t.ok(secrets.length > 10)
  for (const one of secrets) t.notOk(text.includes(one), `the archive must not hold ${one.slice(0, 4)}…`)
  t.match(text, /a fault that helps/)
  t.notMatch(text, /an ordinary line/)
  const names = execFileSync('tar', ['tzf', path.join(cwd, 'out.tar.gz')], { encoding: 'utf8' })
  t.same(
    names
      .trim()
      .split('\n')
      .map((name) => path.basename(name)),
    ['versions.json', 'config.json', 'doctor.json', 'tables.json', 'sizes.json', 'log.txt'],
  )
  t.match((await cli(cwd, ['support', '-o', 'out.tar.gz'])).stderr, /already exists/)
})

t.test('support: faulty settings or a missing data directory leave the other parts', async (t) => {
  const cwd = t.testdir()
  writeFileSync(path.join(cwd, 'edge.config.json'), '{"nonsense":1}')
  const run = await cli(cwd, ['support', '-o', 'out.tar.gz'])
  t.equal(run.code, 0, run.stderr)
  t.ok(existsSync(path.join(cwd, 'out.tar.gz')))
  t.equal((await cli(cwd, ['support', '-o', 'missing/out.tar.gz'])).code, 1)
})
