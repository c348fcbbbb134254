import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { openState } from '../../src/storage/sqlite/state.js'
import { makeGraph } from '../support/make-graph.js'
import { connect, FL, MODELS, putModel } from '../support/models.js'
import { cli } from '../support/run-cli.js'
import { startGateway } from '../support/start-gateway.js'
import { town } from '../support/town.js'

interface Check {
  name: string
  state: string
  findings: { state: string; message: string; advice: string | null }[]
}

/** Creates a data directory; returns it with a function that runs doctor on it. */
async function prepared(t: Test) {
  const cwd = t.testdir()
  await cli(cwd, ['init'])
  const doctor = async (...argv: string[]) => {
    const { code, stdout, stderr } = await cli(cwd, ['doctor', '--json', ...argv])
    const { state, checks } = JSON.parse(stdout) as { state: string; checks: Check[] }
    const find = (name: string) => checks.find((check) => check.name === name) as Check
    return { code, state, checks, find, stderr }
  }
  return { cwd, doctor, file: (name: string) => path.join(cwd, 'data', name) }
}

/** Asserts that every fault has advice. */
function allAdvised(t: Test, checks: Check[]) {
  for (const { name, findings } of checks)
    for (const { state, message, advice } of findings)
      if (state !== 'ok') t.ok(advice !== null && advice.length > 10, `${name}: ${message}`)
}

t.test('doctor: a new gateway has no faults, running or not', async (t) => {
  const { cwd, doctor } = await prepared(t)
  const { code, state, checks, find } = await doctor()
  t.same([code, state], [0, 'ok'])
  t.same(
    checks.map(({ name }) => name),
    [
      'config',
      'disk',
      'permissions',
      'database',
      'clock',
      'keys',
      'blobs',
      'maps',
      'upstreams',
      'feeds',
      'ingest',
      'modbus',
      'fleet',
      'bundles',
      'backups',
      'modules',
      'triggers',
      'retention',
    ],
  )
  t.match(find('database').findings[0]?.message, /no gateway serves/)
  const text = await cli(cwd, ['doctor'])
  t.match(text.stdout, /^ok {7}config/)
  const gateway = await startGateway(t, { dataDir: path.join(t.testdir(), 'data') })
  await putModel(gateway, new Uint8Array(10))
  const running = await cli(cwd, ['doctor', '--data-dir', gateway.dataDir, '--json'])
  t.equal(running.code, 0, running.stdout)
})

t.test('doctor: faults of the settings, and of files they refer to', async (t) => {
  const { cwd, doctor } = await prepared(t)
  writeFileSync(path.join(cwd, 'edge.config.json'), JSON.stringify({ server: { prot: 1 }, nonsense: 2 }))
  const bad = await doctor()
  t.same([bad.code, bad.find('config').findings.length], [2, 2])
  allAdvised(t, bad.checks)
  writeFileSync(path.join(cwd, 'edge.config.json'), JSON.stringify({ server: { host: '0.0.0.0' } }))
  const open = await doctor()
  t.same([open.code, open.find('config').state], [1, 'warning'])
  const tls = { server: { tlsCertFile: 'cert.pem', tlsKeyFile: 'key.pem' } }
  writeFileSync(path.join(cwd, 'edge.config.json'), JSON.stringify(tls))
  const missing = await doctor()
  t.match(missing.find('config').findings.at(-1)?.message, /certificate .*cannot be read/)
  allAdvised(t, missing.checks)
})

t.test(
  'doctor: a map whose profiles are not prepared, because they are larger than their cache',
  async (t) => {
    const { cwd, doctor, file } = await prepared(t)
    const graph = makeGraph(town(9))
    writeGraphFile(file('maps/town.graph'), { ...graph, nodeRank: undefined })
    t.match((await doctor()).find('maps').findings, [{ state: 'ok', message: /town\.graph: .*intact$/ }])
    writeFileSync(
      path.join(cwd, 'edge.config.json'),
      JSON.stringify({ dataDir: './data', routing: { profileCacheBytes: 1024 } }),
    )
    const { checks, find } = await doctor()
    t.match(find('maps').findings, [
      {
        state: 'warning',
        message: /intact, but .* many times slower: .*, routing\.profileCacheBytes is 1024$/,
      },
    ])
    allAdvised(t, checks)
  },
)

t.test('doctor: every broken part is reported, with advice', async (t) => {
  const { cwd, doctor, file } = await prepared(t)
  const elsewhere = await doctor('--data-dir', path.join(cwd, 'nothing'))
  t.equal(elsewhere.code, 2)
  t.match(elsewhere.find('database').findings[0]?.message, /is not the data directory of a gateway/)
  const { stdout } = await cli(cwd, ['doctor', '--data-dir', 'elsewhere'])
  t.match(
    stdout,
    /^error {4}database {5}[^\n]*elsewhere is not the data directory of a gateway\n {22}→ give [^\n]*\n$/,
  )
  writeFileSync(path.join(cwd, 'note.txt'), '')
  const aFile = await doctor('--data-dir', path.join(cwd, 'note.txt'))
  t.match(aFile.find('database').findings[0]?.message, /note\.txt is a file, expected a data directory$/)

  writeFileSync(file('maps/town.graph'), 'no map')
  writeFileSync(file('maps/town.mbtiles'), 'no tiles')
  mkdirSync(file('modules/empty'))
  writeFileSync(file('secret.key'), 'fieldgate-key-1 AAAA')
  chmodSync(file('secret.key'), 0o644)
  chmodSync(path.join(cwd, 'data'), 0o755)
  const broken = await doctor()
  t.equal(broken.code, 2)
  t.equal(broken.find('maps').state, 'error')
  t.match(broken.find('maps').findings, [
    { state: 'error' },
    { state: 'warning', message: /town\.mbtiles: .*no MBTiles file/, advice: /routes do not need it/ },
  ])
  t.equal(broken.find('modules').state, 'error')
  t.match(broken.find('permissions').findings, [
    { state: 'warning', message: /has the mode 755, expected 700/ },
    { state: 'error', message: /secret\.key has the mode 644, expected 600/ },
  ])
  allAdvised(t, broken.checks)

  writeFileSync(file('lock.db'), 'garbage'.repeat(1000))
  const unlockable = (await doctor()).find('database')
  t.match(unlockable.findings[0], { state: 'error', message: /lock\.db is not a lock file/ })
  t.match(unlockable.findings[1], { state: 'ok', message: /^state\.db: schema version/ })
  const refused = await cli(cwd, ['serve', '--port', '0'])
  t.match([refused.code, refused.stderr], [1, /lock\.db is not a lock file .* remove the file/])
  rmSync(file('lock.db'))

  writeFileSync(file('state.db'), Buffer.alloc(8192, 7))
  const rotten = await doctor()
  t.equal(rotten.find('database').state, 'error')
  allAdvised(t, rotten.checks)
})

t.test('doctor: a newer database is reported with both versions', async (t) => {
  const { doctor, file, cwd } = await prepared(t)
  const { openPlain } = await import('../../src/storage/sqlite/connection/snapshot.js')
  const db = openPlain(file('state.db'), false)
  db.pragma('user_version = 99')
  db.close()
  const { code, find } = await doctor()
  t.equal(code, 2)
  t.match(
    find('database').findings.at(1)?.message,
    /state\.db has schema version 99, this Fieldgate reads versions up to \d/,
  )
  for (const argv of [
    ['key', 'list'],
    ['serve', '--port', '0'],
    ['backup', 'b'],
  ]) {
    const { code: exit, stderr } = await cli(cwd, argv)
    t.equal(exit, 1, argv.join(' '))
    t.match(stderr, /schema version 99, this Fieldgate (?:knows|reads) \d/)
  }
})

t.test('doctor: missing bytes of models, keys about to expire, no admin key', async (t) => {
  const gateway = await startGateway(t)
  const { body } = await putModel(gateway, new Uint8Array(1000))
  const cwd = path.dirname(gateway.dataDir)
  rmSync(path.join(gateway.dataDir, 'models', body.model_sha256.slice(0, 2), body.model_sha256))
  const doctor = async () => JSON.parse((await cli(cwd, ['doctor', '--json'])).stdout).checks as Check[]
  const lost = (await doctor()).find(({ name }) => name === 'blobs')
  t.match(lost, { state: 'error', findings: [{ message: new RegExp(body.model_sha256) }] })
  await cli(cwd, ['key', 'create', '--name', 'soon', '--scope', 'map:read', '--expires-in', '2d'])
  t.match(
    (await doctor()).find(({ name }) => name === 'keys'),
    {
      state: 'warning',
      findings: [{ message: /the key soon .*expires/ }],
    },
  )
  await gateway.revokeKey(gateway.admin.apiKey)
  t.match(
    (await doctor()).find(({ name }) => name === 'keys'),
    { state: 'error' },
  )
})

t.test('doctor: a key without an end whose secret is older than a year', async (t) => {
  const cwd = t.testdir()
  await cli(cwd, ['init'])
  const keys = async () => {
    const { checks } = JSON.parse((await cli(cwd, ['doctor', '--json', '--offline'])).stdout)
    return (checks as Check[]).find(({ name }) => name === 'keys')
  }
  t.match(await keys(), { state: 'ok' })
  const state = await openState(path.join(cwd, 'data/state.db'))
  const [admin] = await state.keys.list()
  const yearUs = 366 * 86_400_000_000
  state.stateDb.db.prepare('UPDATE api_key_secret SET created_at_us = created_at_us - ?').run(yearUs)
  await state.close()
  t.match(await keys(), {
    state: 'warning',
    findings: [{ message: /the key admin .* has no end/, advice: new RegExp(`key rotate ${admin?.keyId}`) }],
  })
  await cli(cwd, ['key', 'rotate', 'admin'])
  t.match(await keys(), { state: 'ok' })
})

t.test('doctor: an upstream that answers, one that does not, and a replaced key file', async (t) => {
  const upstream = await startGateway(t)
  const settings = { sync: { allowLoopback: true, allowInsecure: ['127.0.0.1'], push: 'manual' } }
  const edge = await startGateway(t, { settings, dataDir: path.join(t.testdir(), 'edge/data') })
  const cwd = path.dirname(edge.dataDir)
  writeFileSync(path.join(cwd, 'edge.config.json'), JSON.stringify(settings))
  await edge.call(MODELS, 'model_store.create', { model_store_ddc: 'rain' })
  await connect(edge, upstream)
  const check = async (...argv: string[]) => {
    const { stdout } = await cli(cwd, ['doctor', '--json', ...argv])
    return (JSON.parse(stdout).checks as Check[]).find(({ name }) => name === 'upstreams')
  }
  t.match(await check(), { state: 'ok', findings: [{ message: /answers as a gateway/ }] })
  await upstream.gateway.stop()
  t.match(await check(), { state: 'warning', findings: [{ message: /does not answer/ }] })
  t.match(await check('--offline'), { state: 'ok' })
  writeFileSync(
    path.join(edge.dataDir, 'secret.key'),
    `fieldgate-key-1 ${Buffer.alloc(32, 1).toString('base64')}\n`,
  )
  t.match(await check('--offline'), { state: 'error', findings: [{ message: /cannot be decrypted with/ }] })
  t.ok(FL)
})

t.test('doctor: --reset-clock replaces a recorded time in the future', async (t) => {
  const { cwd, doctor, file } = await prepared(t)
  const farUs = Date.now() * 1000 + 20 * 365 * 24 * 3_600_000_000
  const note = await openState(file('state.db'))
  await note.meta.note('last_seen_us', String(farUs))
  await note.close()
  const before = await doctor()
  t.match(before.find('clock'), { state: 'error', findings: [{ advice: /--reset-clock/ }] })
  const reset = await doctor('--reset-clock')
  t.equal(reset.code, 0)
  t.match(reset.stderr, /uses it from its next start/)
  t.equal((await doctor()).find('clock').state, 'ok')
  t.equal((await cli(cwd, ['doctor'])).code, 0)
})

t.test('doctor: backups that failed, are old, or lack files', async (t) => {
  const { cwd, doctor, file } = await prepared(t)
  const state = await openState(file('state.db'))
  t.teardown(() => state.close())
  const hourUs = 3_600_000_000
  const nowUs = Date.now() * 1000
  const record = {
    atUs: nowUs,
    dir: '/mnt/b',
    successUs: nowUs,
    error: null,
    writtenBytes: 1,
    totalBytes: 2,
    lost: 0,
  }
  const reportFor = async (change: object) => {
    await state.meta.note('last_backup', JSON.stringify({ ...record, ...change }))
    return (await doctor()).find('backups')
  }
  t.equal((await reportFor({})).state, 'ok')
  t.match(await reportFor({ error: 'no room' }), { state: 'error', findings: [{ message: /no room/ }] })
  t.equal((await reportFor({ successUs: nowUs - 40 * 24 * hourUs })).state, 'warning')
  t.equal((await reportFor({ lost: 2 })).state, 'warning')
  writeFileSync(path.join(cwd, 'edge.config.json'), JSON.stringify({ backup: { dir: 'b', everyHours: 1 } }))
  const late = await reportFor({ successUs: nowUs - 3 * hourUs })
  t.same(
    late.findings.map(({ state: of }) => of),
    ['warning', 'warning'],
    'the directory does not exist, and the last backup is old',
  )
})

t.test('doctor: isolation of module runs, as the gateway recorded it', async (t) => {
  const { doctor, file } = await prepared(t)
  mkdirSync(file('modules/one'), { recursive: true })
  writeFileSync(file('modules/one/go.sh'), '#!/bin/sh\n')
  chmodSync(file('modules/one/go.sh'), 0o755)
  const scripts = { go: { path: 'go.sh', type: 'prediction' } }
  writeFileSync(file('modules/one/definition.json'), JSON.stringify({ name: 'one', scripts }))
  const report = async (record?: object) => {
    mkdirSync(file('dataproc'), { recursive: true })
    if (record !== undefined) writeFileSync(file('dataproc/isolation.json'), JSON.stringify(record))
    const { find, checks } = await doctor()
    allAdvised(t, checks)
    return find('modules')
  }
  t.match(await report(), {
    state: 'ok',
    findings: [{ message: /is determined when the gateway starts/ }, {}],
  })
  const kept = { mode: 'auto', kind: 'namespaces', hasOwnProc: true, hasOwnNetwork: true, reason: null }
  t.match(await report(kept), {
    state: 'ok',
    findings: [{ message: /each sees its own files only, without a network$/ }, {}],
  })
  t.match(await report({ ...kept, hasOwnNetwork: false }), {
    state: 'warning',
    findings: [{ message: /use the network of the device/, advice: /dataproc\.network to host/ }, {}],
  })
  t.match(await report({ ...kept, hasOwnProc: false }), {
    state: 'ok',
    findings: [{ message: /command lines of other processes are visible/ }, {}],
  })
  t.match(await report({ ...kept, kind: 'none', reason: 'unshare failed' }), {
    state: 'warning',
    findings: [
      { message: 'the gateway cannot isolate runs: unshare failed', advice: /modules\.conf to the unit/ },
      {},
    ],
  })
  t.match(await report({ ...kept, mode: 'namespaces' }), {
    findings: [{ message: /is determined when the gateway starts/ }, {}],
  })
  t.match(await report([]), { state: 'ok' }, 'a damaged record is none')
})
