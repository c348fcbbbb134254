import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeModule, SESSION, startModules } from '../../support/dataproc.js'
import { until } from '../../support/models.js'

const SCRIPTS = {
  put: 'printf "%s" "$DATAPROC_PARAM_text" > session/kept; printf "%s" "$DATAPROC_PARAM_text" >> application/all',
  get: 'cat session/kept > application/seen',
  seek: `{ ls -a session session/.. session/../.. ../ ../../ ../../sessions ../../sessions/* "$DATAPROC_RUN_DIR"/session/../../../sessions
      find ../.. -name kept; cat "$DATAPROC_PARAM_at" 2>/dev/null || echo its place is empty; cat ../../sessions/*/*/kept; ls /proc/*/cwd/; cat ../../../secret.key
      ln -s ../../../.. session/up; cat session/up/sessions/*/*/kept; umount ../../..; cat ../../../state.db; } > application/found 2>&1; true`,
  plant: 'ln -s "$DATAPROC_PARAM_at" output/out.csv; true',
  write: 'echo x > ../../../modules/iso/put.sh',
}

t.test('dataproc sessions: shared by the scripts of a module in a session, and gone with it', async (t) => {
  const gateway = await startModules(t)
  makeModule(gateway.modulesDir, 'keep', SCRIPTS)
  makeModule(gateway.modulesDir, 'other', SCRIPTS)
  const one = await gateway.openSession()
  const two = await gateway.openSession()
  const application = path.join(gateway.dataDir, 'dataproc/applications/keep')
  const ok = { body: { result: true } }
  t.match(await gateway.exec('keep', 'put', { params: { text: 'one' } }, one), ok)
  t.match(await gateway.exec('keep', 'get', {}, one), ok)
  t.equal(readFileSync(path.join(application, 'seen'), 'utf8'), 'one')
  t.match(
    (await gateway.exec('keep', 'get', {}, two)).body.error,
    { data: { name: 'MODULE_FAILED' } },
    'another session',
  )
  t.match(
    (await gateway.exec('other', 'get', {}, one)).body.error,
    { data: { name: 'MODULE_FAILED' } },
    'another module',
  )
  t.match(
    (await gateway.exec('keep', 'get', {})).body.error,
    { data: { name: 'MODULE_FAILED' } },
    'no session',
  )
  t.match(await gateway.exec('keep', 'put', { params: { text: 'two' } }, two), ok)
  t.match(await gateway.exec('keep', 'get', {}, one), ok)
  t.equal(readFileSync(path.join(application, 'seen'), 'utf8'), 'one', 'untouched by the other')
  t.equal(
    readFileSync(path.join(application, 'all'), 'utf8'),
    'onetwo',
    'the application outlives runs and sessions',
  )
  const spoofed = { ...two, 'svc-session-id': 'x', 'Svc-Session-Id': 'y' }
  t.match(await gateway.exec('keep', 'get', {}, spoofed), ok)
  t.equal(
    readFileSync(path.join(application, 'seen'), 'utf8'),
    'two',
    'a session is known by its token alone',
  )
  t.equal(gateway.names('sessions').length, 2)
  await gateway.call(SESSION, 'session.close_session', { token: one.token })
  await until('the directory of the closed session is gone', () => gateway.names('sessions').length === 1)
  t.match(await gateway.exec('keep', 'get', {}, two), ok)
  t.equal((await gateway.exec('keep', 'get', {}, one)).status, 401)
})

t.test('dataproc sessions: a directory stays while a run of its session goes on', async (t) => {
  const gateway = await startModules(t)
  makeModule(gateway.modulesDir, 'keep', {
    waits:
      'touch session/kept application/begun; while [ ! -e application/go ]; do sleep 0.05; done; cat session/kept',
  })
  const session = await gateway.openSession()
  const run = gateway.exec('keep', 'waits', {}, session)
  const application = path.join(gateway.dataDir, 'dataproc/applications/keep')
  await until('it has begun', () => existsSync(path.join(application, 'begun')))
  await gateway.call(SESSION, 'session.close_session', { token: session.token })
  mkdirSync(path.join(application, 'go'))
  t.match((await run).body, { result: true })
  await until('it goes with the next session that is closed', async () => {
    const next = await gateway.openSession()
    await gateway.call(SESSION, 'session.close_session', { token: next.token })
    return gateway.names('sessions').length === 0
  })
})

t.test('dataproc sessions: behind walls nothing of another session is seen', async (t) => {
  const gateway = await startModules(t, { isolation: 'auto' })
  makeModule(gateway.modulesDir, 'iso', SCRIPTS)
  const one = await gateway.openSession()
  const two = await gateway.openSession()
  await gateway.exec('iso', 'put', { params: { text: 'a secret of one' } }, one)
  const [sessionId = ''] = gateway.names('sessions')
  const at = path.join(gateway.dataDir, 'dataproc/sessions', sessionId, 'iso/kept')
  t.equal(readFileSync(at, 'utf8'), 'a secret of one')
  const told = gateway.logLines.find((line) => 'isolation' in line)
  if (told?.isolation !== 'namespaces') {
    t.pass('isolation', { skip: `this system allows no namespaces: ${JSON.stringify(told)}` })
    return
  }
  t.match((await gateway.exec('iso', 'seek', { params: { at } }, two)).body, { result: true })
  const found = readFileSync(path.join(gateway.dataDir, 'dataproc/applications/iso/found'), 'utf8')
  t.notMatch(found, /a secret of one/)
  t.notMatch(found, new RegExp(sessionId))
  t.notMatch(found, /SQLite/)
  t.match(found, /its place is empty/)
  const text = readFileSync(path.join(gateway.modulesDir, 'iso/put.sh'), 'utf8')
  t.match((await gateway.exec('iso', 'write', {}, two)).body.error, {
    data: { stderr: /Read-only file system/ },
  })
  t.equal(readFileSync(path.join(gateway.modulesDir, 'iso/put.sh'), 'utf8'), text)
})

for (const isolation of ['auto', 'none']) {
  t.test(
    `dataproc sessions: what the gateway hands over leads nowhere else, isolation ${isolation}`,
    async (t) => {
      const gateway = await startModules(t, { isolation })
      makeModule(gateway.modulesDir, 'iso', SCRIPTS)
      await gateway.call('/api/v2/dataset/jsonrpc', 'dataset.create', {
        dataset_name: 'd',
        columns: [{ column_name: 'k', data_type: 'text' }],
      })
      const one = await gateway.openSession()
      const two = await gateway.openSession()
      await gateway.exec('iso', 'put', { params: { text: 'k\nsecret of one\n' } }, one)
      const [sessionId = ''] = gateway.names('sessions')
      const at = path.join(gateway.dataDir, 'dataproc/sessions', sessionId, 'iso/kept')
      const output = { out: { data_ddc: 'd' } }
      t.match((await gateway.exec('iso', 'plant', { params: { at }, output }, two)).body.error, {
        data: { name: 'BAD_OUTPUT' },
        message: /is not a readable regular file/,
      })
      // a link in the place of a session's own directory is not followed
      const [mine = ''] = gateway.names('sessions').filter((name) => name !== sessionId)
      const sessions = path.join(gateway.dataDir, 'dataproc/sessions')
      const three = await gateway.openSession()
      await gateway.exec('iso', 'put', { params: { text: 'three' } }, three)
      const [third = ''] = gateway.names('sessions').filter((name) => name !== sessionId && name !== mine)
      rmSync(path.join(sessions, third, 'iso'), { recursive: true })
      symlinkSync(path.join(sessions, sessionId, 'iso'), path.join(sessions, third, 'iso'))
      t.match((await gateway.exec('iso', 'get', {}, three)).body.error, { data: { name: 'MODULE_FAILED' } })
      for (const module of [
        '../sessions',
        `iso/../../dataproc`,
        'iso\u0000',
        '/etc',
        '.',
        '..',
        'ＩＳＯ',
        'iso/',
        'ISO',
        '',
      ])
        t.match(
          (await gateway.exec(module, 'get', {}, two)).body.error,
          { data: { name: 'UNKNOWN_MODULE' } },
          module,
        )
      for (const method of ['../put', 'put.sh', '__proto__', 'constructor', ''])
        t.match(
          (await gateway.exec('iso', method, {}, two)).body.error,
          { data: { name: 'UNKNOWN_SCRIPT' } },
          method,
        )
      for (const label of ['../x', 'a/b', '.', 'ä', 'a\u0000', 'a b', '', 'x'.repeat(64)])
        t.match(
          (await gateway.exec('iso', 'put', { output: { [label]: { data_ddc: 'd' } } }, two)).body.error,
          { code: -32602 },
          label,
        )
      t.equal(readFileSync(at, 'utf8'), 'k\nsecret of one\n')
      t.same(readdirSync(path.join(gateway.dataDir, 'dataproc/runs')), [])
    },
  )
}
