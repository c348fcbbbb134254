import path from 'node:path'
import t from 'tap'
import { CONTACT, contactText } from '../../../../src/storage/exchange/contact.js'
import { NO_PROGRESS } from '../../../../src/storage/exchange/membership.js'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { UPSTREAM_SECRET_CONTEXT } from '../../../../src/storage/models/upstreams.js'
import { createDatabases } from '../../../../src/storage/sqlite/maintenance/databases.js'
import { createStoredFacts } from '../../../../src/storage/sqlite/maintenance/stored-facts.js'
import { openState } from '../../../../src/storage/sqlite/state.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'

const NO_FLEET = {
  membership: null,
  gateways: { member: 0, left: 0, revoked: 0, silent: 0, trouble: 0 },
  tokens: { active: 0, usedUp: 0, expired: 0 },
}

t.test('stored facts: of a gateway without keys, models or upstreams', async (t) => {
  const dir = t.testdir()
  await (await openState(path.join(dir, 'state.db'))).close()
  const facts = createStoredFacts()
  t.equal(await facts.firstKeyAtUs(dir), 0)
  t.equal(await facts.quarantinedModels(dir), 0)
  t.equal(await facts.lastSeenUs(dir), 0)
  t.same(await facts.keys(dir), [])
  t.same(await facts.secrets(dir, undefined), { bytes: [], texts: [] })
  t.same(await createDatabases().sizes(dir, 'data.db'), { mainBytes: 0, logBytes: 0 }, 'no data.db yet')
})

t.test('stored facts: secrets of upstreams are text with their key file alone', async (t) => {
  const dir = t.testdir()
  const keyring = createKeyring(new Uint8Array(32))
  const state = await openState(path.join(dir, 'state.db'))
  const secret = keyring.encrypt('hush', UPSTREAM_SECRET_CONTEXT)
  state.stateDb.db.pragma('foreign_keys = OFF')
  const insert = `INSERT INTO upstream VALUES (1, 1, 'https://up.example', 'key', ?, 'store', '', '', 1, 0, 0)`
  state.stateDb.db.prepare(insert).run(secret)
  await state.close()
  const facts = createStoredFacts()
  t.match(await facts.upstreams(dir, keyring), [{ secret: 'hush' }])
  t.match(await facts.upstreams(dir, undefined), [{ secret: undefined }])
  t.match(await facts.upstreams(dir, createKeyring(new Uint8Array(32).fill(1))), [{ secret: undefined }])
  t.same((await facts.secrets(dir, keyring)).texts, ['hush'])
  t.same((await facts.secrets(dir, undefined)).texts, [])
  t.same((await facts.secrets(dir, undefined)).bytes, [Buffer.from(secret)])
})

t.test('stored facts: citations are compared once their checksum is computed', async (t) => {
  const dir = t.testdir()
  const { store, data, close } = openDatasets(path.join(dir, 'data.db'))
  await store.create(definition('d', columns('k int')))
  const cited = []
  for (const label of ['a', 'b', 'c']) cited.push((await store.cite(label, 'd')).longForm)
  await store.settled()
  data.writer.prepare('UPDATE citation SET checksum = NULL WHERE long_form = ?').run(cited[1])
  data.writer.prepare("UPDATE citation SET checksum = 'other' WHERE long_form = ?").run(cited[2])
  data.writer.pragma('wal_checkpoint(TRUNCATE)')
  const checked = []
  for await (const citation of createStoredFacts().checkCitations(dir)) checked.push(citation)
  await close()
  const [{ found } = { found: '' }] = checked
  t.match(found, /^[0-9a-f]{64}$/)
  t.same(checked, [
    { longForm: cited[0], found, expected: found },
    { longForm: cited[2], found, expected: 'other' },
  ])
})

t.test('stored facts: of a state.db from before feeds, keys of the node and joining', async (t) => {
  const dir = t.testdir()
  const state = await openState(path.join(dir, 'state.db'))
  for (const table of ['feed', 'sync_upstream', 'fleet_membership', 'node_key', 'bundle_written'])
    state.stateDb.db.exec(`DROP TABLE ${table}`)
  await state.close()
  const facts = createStoredFacts()
  t.same(await facts.secrets(dir, undefined), { bytes: [], texts: [] })
  t.same(await facts.feeds(dir), [])
  t.same(await facts.openBundles(dir), [])
  t.same(await facts.fleet(dir, 0, 0), NO_FLEET)
  t.equal(await facts.hasEncrypted(dir), false)
})

t.test('stored facts: private keys of the node are text with the key file alone', async (t) => {
  const dir = t.testdir()
  const keyring = createKeyring(new Uint8Array(32))
  const state = await openState(path.join(dir, 'state.db'), { keyring })
  const pair = (byte: number) => ({
    publicKey: new Uint8Array(32).fill(byte),
    privateKey: new Uint8Array(32).fill(byte + 100),
  })
  await state.nodeKeys.claim({ signing: pair(1), exchange: pair(2) })
  await state.close()
  const facts = createStoredFacts()
  const opened = [101, 102].map((byte) => Buffer.alloc(32, byte))
  const known = await facts.secrets(dir, keyring)
  const unknown = await facts.secrets(dir, undefined)
  t.same(new Set(known.texts), new Set(opened.map((bytes) => bytes.toString('base64url'))))
  t.equal(unknown.bytes.length, 2, 'as they are stored')
  t.same(unknown.texts, [])
  const has = ({ bytes }: typeof known) => opened.map((key) => bytes.some((found) => key.equals(found)))
  t.same(has(known), [true, true])
  t.same(has(unknown), [false, false])
})

t.test('stored facts: a membership while it joins, when it is complete, and when it has ended', async (t) => {
  const dir = t.testdir()
  const state = await openState(path.join(dir, 'state.db'), { keyring: createKeyring(new Uint8Array(32)) })
  const facts = createStoredFacts()
  const found = () => facts.fleet(dir, 0, 0)
  t.same(await found(), NO_FLEET)
  await state.membership.begin({ hubUrl: 'https://hub.example', name: 'van', secret: 'hush' })
  await state.membership.noteFailure('no route')
  const joining = {
    ...{ hubUrl: 'https://hub.example', state: 'joining', reason: 'no route', joinedAtUs: 0 },
    ...{ contactUs: null, wanted: null, applied: null, putBack: null, refusedItems: [] },
    ...{ release: null, waitingFiles: [], installedFiles: [] },
  }
  t.same((await found()).membership, joining)
  const hub = { nodeId: 'n', signingKey: 's', exchangeKey: 'e' }
  const { joinedAtUs } = await state.membership.complete({ apiKey: 'key', hub })
  const member = { ...joining, state: 'member', reason: null, joinedAtUs }
  t.same((await found()).membership, member)
  const atUs = Number(joinedAtUs) + 1
  await state.meta.note(CONTACT, contactText({ atUs, version: 3 }))
  t.same((await found()).membership, { ...member, contactUs: atUs, wanted: 3 })
  const items = [
    { item: 'up seen', state: 'refused' as const, reason: 'no column' },
    { item: 'map town', state: 'applied' as const, reason: null },
    { item: 'release linux-x64', state: 'staged' as const, reason: 'it waits' },
  ]
  const applied = { name: 'field', version: 2, digest: 'd', body: {} }
  const coming = { item: 'module rain', state: 'waiting' as const, reason: '0 bytes of the file are here' }
  const fetching = { version: 3, items: [coming] }
  await state.membership.noteProgress({ ...NO_PROGRESS, applied, items, fetching })
  await state.installedFiles.note({ kind: 'map', name: 'town', sha256: 'd', stamp: '' })
  t.match((await found()).membership, {
    wanted: 3,
    applied: 2,
    refusedItems: ['up seen'],
    waitingFiles: [{ item: 'module rain', reason: '0 bytes of the file are here' }],
    installedFiles: [{ kind: 'map', name: 'town' }],
    release: { state: 'staged' },
  })
  await state.membership.end()
  t.same(await found(), NO_FLEET)
  await state.close()
})
