import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { hashSecret } from '../../src/auth/secret.js'
import { combineBundles } from '../../src/bundles/combine.js'
import { partLine } from '../../src/bundles/content/parts.js'
import { HEAD_BYTES, LENGTH_BYTES, MAGIC } from '../../src/bundles/seal/format.js'
import { sealEnvelope } from '../../src/bundles/seal/seal.js'
import { openNodeKeys } from '../../src/node-keys/keys.js'
import { createFeedInbox } from '../../src/storage/sqlite/feeds/inbox.js'
import { type BundleSide, openBundleSide, openPair } from '../support/bundle-side.js'
import { dumpDataDir } from '../support/data-dump.js'
import { mutants } from '../support/mutants.js'
import { rejectsWith } from '../support/rejects-with.js'

/** Mutants of the suite; FIELDGATE_TEST_MUTANTS=2000 for more. */
const MUTANTS = Number(process.env.FIELDGATE_TEST_MUTANTS ?? 150)

const rowsOf = async (side: BundleSide) =>
  [...(await side.rows())].map(([key, note]) => `${key.split(' ')[1]} ${note}`)

t.test('bundles: mutants are refused and change nothing', async (t) => {
  const { van, base, fileOf } = await openPair(t)
  await van.put([
    { k: 1, note: 'first' },
    { k: 2, note: 'x'.repeat(500) },
  ])
  await van.write(fileOf('good'))
  const good = readFileSync(fileOf('good'))
  const before = dumpDataDir(base.home)
  let refused = 0
  for (const { bytes, what } of mutants(good, MUTANTS, 7)) {
    writeFileSync(fileOf('bad'), bytes)
    await base.apply(fileOf('bad')).then(
      () => t.fail(`taken: ${what}`),
      (error: Error) => {
        if (!/nothing was changed/.test(error.message)) t.fail(`${what}: ${error.message}`)
        refused++
      },
    )
  }
  t.equal(refused, MUTANTS)
  t.same(dumpDataDir(base.home), before)
  await base.apply(fileOf('good'))
  t.same(await rowsOf(base), ['1 first', `2 ${'x'.repeat(500)}`])
})

t.test('bundles: foreign, unknown and forged ones are refused whole', async (t) => {
  const { dir, van, base, fileOf } = await openPair(t)
  const thief = await openBundleSide(path.join(dir, 'thief'))
  t.teardown(() => thief.close())
  await van.put([{ k: 1 }])
  await van.write(fileOf('1'))
  const before = dumpDataDir(base.home)
  await t.rejects(
    thief.apply(fileOf('1')),
    /it is for another node, or the beginning was changed; nothing was changed/,
  )
  await t.rejects(van.apply(fileOf('1')), /it is for another node/)
  await t.rejects(base.apply(fileOf('none')), { code: 'ENOENT' })
  await thief.meet(base, 'base')
  await thief.feedTo('base')
  await thief.put([{ k: 1 }])
  await thief.write(fileOf('unknown'))
  await t.rejects(
    base.apply(fileOf('unknown')),
    /found the sender .*, whose keys are not known here: `fieldgate bundle peer add`/,
  )
  // signed by the thief in the name of the van
  const forged = await forge(thief, base, [partLine('bundle', headOf(van, base)), partLine('end', {})])
  writeFileSync(fileOf('forged'), forged)
  await t.rejects(base.apply(fileOf('forged')), /its signature is not that of van/)
  t.same(dumpDataDir(base.home), before)
  await base.data.state.nodePeers.remove('van')
  await t.rejects(base.apply(fileOf('1')), /whose keys are not known here/)
})

t.test('bundles: what a known node writes is checked like what a caller sends', async (t) => {
  const { van, base, fileOf } = await openPair(t)
  await van.put([{ k: 1 }])
  const head = partLine('bundle', headOf(van, base))
  const end = partLine('end', {})
  const received = (json: string) => [partLine('received', {}, Buffer.byteLength(json)), Buffer.from(json)]
  const before = dumpDataDir(base.home)
  const refuses = async (parts: readonly Buffer[], reason: RegExp) => {
    writeFileSync(fileOf('x'), await forge(van, base, parts))
    await t.rejects(base.apply(fileOf('x')), reason, String(reason))
  }
  await refuses([end], /part: found nothing, expected a name|the part bundle/)
  await refuses([head], /found its end before its last part/)
  await refuses([head, end, end], /found bytes after its last part/)
  await refuses([Buffer.from('{'), end], /whose line is no JSON/)
  await refuses([head, Buffer.from('{"part":"x","bytes":-1}\n')], /bytes: found -1, expected a whole number/)
  await refuses(
    [head, Buffer.from('{"part":"feed","bytes":9000000000000000}\n'), end],
    /found its end within a part/,
  )
  await refuses([head, partLine('later', {}), end], /found a part later, which this version does not know/)
  await refuses([head, Buffer.alloc(5_000_000, 0x20), end], /line has more than 4194304 bytes/)
  await refuses(
    [partLine('bundle', { ...headOf(van, base), fieldgate_bundle: 2 }), end],
    /the part bundle: fieldgate_bundle/,
  )
  await refuses(
    [partLine('bundle', { ...headOf(van, base), to: van.nodeId }), end],
    /found the receiver 1111/,
  )
  await refuses([head, ...received('{"feeds":7}'), end], /the part received: /)
  await refuses([head, ...received('{'), end], /the part of acknowledgements: found no JSON/)
  const large = { feed: van.nodeId, after: 1, last: 2, changes: [] }
  const text = Buffer.alloc(4 * 1024 * 1024 + 1)
  await refuses([head, partLine('batch', large, text.length), text, end], /found a batch of 4194305 bytes/)
  await refuses([head, partLine('batch', { ...large, last: -1 }), end], /the part batch: last/)
  await refuses(
    [head, partLine('citation', { feed: van.nodeId, after: -1 }), end],
    /the part citation: after/,
  )
  const rows = partLine('rows', { after: 0, rows: 1 }, text.length)
  await refuses([head, rows, text, end], /found rows of a citation of 4194305 bytes/)
  await refuses([head, partLine('rows', { after: 0 }), end], /the part rows: rows/)
  await refuses([head, partLine('model', { transfer: 1 }), end], /the part model: /)
  t.same(dumpDataDir(base.home), before)
})

t.test(
  'bundles: batches that unpack to too much, lie about their size or come alone are kept out',
  async (t) => {
    const { van, base, fileOf } = await openPair(t)
    await van.put([{ k: 1 }])
    await van.write(fileOf('1'))
    await base.apply(fileOf('1'))
    const [feed] = await van.data.state.feeds.list()
    const table = await van.data.findTable('seen')
    const uuid = table === undefined ? '' : await van.data.feedIdentity.tableUuid(table)
    const bomb = zstdCompressSync(Buffer.alloc(200_000_000), {
      params: { [constants.ZSTD_c_compressionLevel]: 19 },
    })
    const batch = { feed: feed?.feedId, after: 1, last: 2, changes: [[2, 1]] }
    const parts = (more: readonly Buffer[]) => [
      partLine('bundle', headOf(van, base)),
      ...more,
      partLine('end', {}),
    ]
    const apply = async (more: readonly Buffer[]) => {
      writeFileSync(fileOf('x'), await forge(van, base, parts(more)))
      return await base.apply(fileOf('x'))
    }
    const {
      bundles: [alone],
    } = await apply([partLine('batch', batch, bomb.length), bomb])
    t.same(alone?.feeds, [], 'a batch without its feed is passed over')
    const { offer } = await offerOf(van, uuid ?? '')
    const {
      bundles: [big],
    } = await apply([partLine('feed', { offer }), partLine('batch', batch, bomb.length), bomb])
    t.match(big?.feeds[0]?.keptOut, /found more than 4194304 bytes of text/)
    const {
      bundles: [bad],
    } = await apply([partLine('feed', { offer: { ...offer, epoch: 'x' } })])
    t.match(bad?.feeds[0]?.keptOut, /Invalid params: \$.epoch/)
    const {
      bundles: [other],
    } = await apply([partLine('feed', { offer: { ...offer, node: base.nodeId } })])
    t.match(other?.feeds[0]?.keptOut, /found the node 2222.*, expected 1111/)
    t.same(await rowsOf(base), ['1 null'])
  },
)

t.test('bundles: two at the same time write each row once', async (t) => {
  const { dir, van, base, fileOf } = await openPair(t)
  await van.put(Array.from({ length: 3000 }, (_, k) => ({ k, note: `${k}` })))
  await van.write(fileOf('1'))
  const again = await openBundleSide(path.join(dir, 'base'))
  t.teardown(() => again.close())
  const results = await Promise.all([base.apply(fileOf('1')), again.apply(fileOf('1'))])
  const feeds = results.map(({ bundles }) => bundles[0]?.feeds[0])
  t.same(
    feeds.map((feed) => feed?.keptOut),
    [null, null],
  )
  t.equal(
    feeds.reduce((sum, feed) => sum + (feed?.written ?? 0), 0),
    3000,
  )
  t.equal((await base.rows()).size, 3000)
})

t.test('bundles: a disk that is full on the way keeps what came before; again, the rest', async (t) => {
  const { van, base, fileOf } = await openPair(t)
  await van.put(Array.from({ length: 25_000 }, (_, k) => ({ k })))
  await van.write(fileOf('1'))
  const { db } = base.data
  const pages = Number(db.writer.pragma('page_count', { simple: true }))
  db.writer.pragma(`max_page_count = ${pages + 250}`)
  await rejectsWith(t, base.apply(fileOf('1')), 'DISK_FULL')
  const { size } = await base.rows()
  t.ok(size >= 0 && size < 25_000, `${size} rows were taken`)
  const [feed] = await createFeedInbox(db).ofSender(van.nodeId)
  t.equal(feed?.cursor, size, 'rows and cursor are of one piece')
  db.writer.pragma('max_page_count = 1000000')
  await base.apply(fileOf('1'))
  t.equal((await base.rows()).size, 25_000)
})

t.test(
  'bundles: rows of others need the relay right, and those of this node are not taken back',
  async (t) => {
    const { dir, van, base, fileOf } = await openPair(t)
    const hub = await openBundleSide(path.join(dir, 'hub'))
    t.teardown(() => hub.close())
    await base.meet(hub, 'hub')
    await hub.meet(base, 'base')
    await van.put([{ k: 1, note: 'van' }])
    await van.write(fileOf('1'), ['base'])
    await base.apply(fileOf('1'))
    await base.put([{ k: 1, note: 'base' }])
    await base.feedTo('hub')
    await base.write(fileOf('2'), ['hub'])
    const {
      bundles: [kept],
    } = await hub.apply(fileOf('2'))
    t.match(kept?.feeds[0]?.keptOut, /lacks the scope sync:relay/)
    t.equal((await hub.rows()).size, 0)
    await hub.data.state.nodePeers.remove('base')
    await hub.meet(base, 'base', true)
    await hub.apply(fileOf('2'))
    t.same((await rowsOf(hub)).sort(), ['1 base', '1 van'])
  },
)

t.test('bundles: one file for several nodes', async (t) => {
  const { dir, van, base, fileOf } = await openPair(t)
  const hub = await openBundleSide(path.join(dir, 'hub'))
  t.teardown(() => hub.close())
  await van.meet(hub, 'hub')
  await hub.meet(van, 'van')
  await van.feedTo('hub')
  await van.put([{ k: 1 }])
  t.equal((await van.write(fileOf('1'))).length, 2)
  t.match(await base.apply(fileOf('1')), { others: 1, bundles: [{ feeds: [{ written: 1 }] }] })
  t.match(await hub.apply(fileOf('1')), { others: 1, bundles: [{ feeds: [{ written: 1 }] }] })
  await t.rejects(van.apply(fileOf('1')), /all its 2 bundles are for another node/)
  await t.rejects(van.write(fileOf('1')), /exists: choose another name/)
})

t.test('bundles: a courier combines files of several nodes', async (t) => {
  const { dir, van, base, fileOf } = await openPair(t)
  const other = await openBundleSide(path.join(dir, 'other'))
  t.teardown(() => other.close())
  await other.meet(base, 'base')
  await base.meet(other, 'other')
  await other.feedTo('base')
  await van.put([{ k: 1, note: 'van' }])
  await other.put([{ k: 1, note: 'other' }])
  await van.write(fileOf('1'))
  await other.write(fileOf('2'))
  t.equal(await combineBundles(fileOf('both'), [fileOf('1'), fileOf('2')]), 2)
  const { bundles, others } = await base.apply(fileOf('both'))
  t.same([bundles.map(({ node }) => node.name), others], [['van', 'other'], 0])
  t.same((await rowsOf(base)).sort(), ['1 other', '1 van'])
  writeFileSync(fileOf('torn'), readFileSync(fileOf('2')).subarray(0, -1))
  await t.rejects(combineBundles(fileOf('x'), [fileOf('1'), fileOf('torn')]), /it was torn/)
  await t.rejects(combineBundles(fileOf('both'), [fileOf('1')]), /exists: choose another name/)
  // of one node: none is used when one of them is bad
  const good = readFileSync(fileOf('both'))
  good[good.length - 1] = (good.at(-1) ?? 0) ^ 1
  writeFileSync(fileOf('bad'), good)
  await van.put([{ k: 2 }])
  await t.rejects(base.apply(fileOf('bad')), /the chunk 1 of 1 was changed/)
})

function headOf(from: BundleSide, to: BundleSide): object {
  const bundle = '33333333-3333-4333-8333-333333333333'
  return { fieldgate_bundle: 1, bundle, from: from.nodeId, to: to.nodeId, epoch: 1, seq: 99 }
}

/** Returns the offer that a bundle of a node has. */
async function offerOf({ data, nodeId }: BundleSide, uuid: string) {
  const [feed] = await data.state.feeds.list()
  const columns = [
    { name: 'k', udt_name: 'int4', is_nullable: true, column_default: null, length: null, srid: null },
    { name: 'note', udt_name: 'text', is_nullable: true, column_default: null, length: null, srid: null },
  ]
  const definition = { data_name: 'seen', schema: 'event', columns, unique_columns: ['k'] }
  const epoch = await data.feedIdentity.epoch()
  return { offer: { node: nodeId, feed: feed?.feedId, table: uuid, epoch, start: 0, definition } }
}

/** Returns a file that a node signed, with any text. */
async function forge(from: BundleSide, to: BundleSide, parts: readonly Buffer[]): Promise<Buffer> {
  const keys = await openNodeKeys(from.data.state.nodeKeys, from.nodeId)
  const { identity } = await openNodeKeys(to.data.state.nodeKeys, to.nodeId)
  const text = async function* () {
    yield* parts
  }
  const pieces: Uint8Array[] = []
  for await (const piece of sealEnvelope(text(), keys, identity.exchangeKey)) pieces.push(piece)
  const envelope = Buffer.concat(pieces)
  const head = Buffer.alloc(HEAD_BYTES + LENGTH_BYTES)
  MAGIC.copy(head)
  head.writeUInt32BE(1, MAGIC.length)
  head.writeBigUInt64BE(BigInt(envelope.length), HEAD_BYTES)
  return Buffer.concat([head, envelope])
}

t.test(
  'bundles: a gateway of the fleet has the rights of its key, and none once it is revoked',
  async (t) => {
    const { van, base, fileOf } = await openPair(t)
    const { state } = base.data
    await joinFleet(base, van, ['sync:write'])
    const member = await state.fleetMembers.find(van.nodeId)
    await van.put([{ k: 1 }])
    await van.write(fileOf('1'))
    await state.askedFeeds.grant(member?.keyId ?? '', ['other'])
    const [kept] = (await base.apply(fileOf('1'))).bundles
    t.match(kept?.feeds[0]?.keptOut, /may not use the table seen as a feed: it was granted other/)
    await state.askedFeeds.grant(member?.keyId ?? '', ['seen'])
    const [taken] = (await base.apply(fileOf('1'))).bundles
    t.match(taken?.feeds, [{ written: 1, keptOut: null }])
    await van.put([{ k: 2 }])
    await van.write(fileOf('2'))
    await state.keys.setScopes(member?.keyId ?? '', ['sync:read'])
    const [unscoped] = (await base.apply(fileOf('2'))).bundles
    t.match(unscoped?.feeds[0]?.keptOut, /lacks the scope sync:write/)
    const model = { transfer: 1, model: 'm', sha256: 'a'.repeat(64), data: '{}' }
    const parts = [partLine('bundle', headOf(van, base)), partLine('model', model), partLine('end', {})]
    writeFileSync(fileOf('model'), await forge(van, base, parts))
    const [withModel] = (await base.apply(fileOf('model'))).bundles
    t.match(withModel?.models.refused, [/^m: the key of van lacks the scope model:write$/])
    await state.fleetMembers.end(van.nodeId, 'revoked')
    await t.rejects(base.apply(fileOf('2')), /the gateway van was revoked; nothing was changed/)
    t.equal((await base.rows()).size, 1)
  },
)

async function joinFleet(
  hub: BundleSide,
  { nodeId, data }: BundleSide,
  scopes: readonly string[],
): Promise<void> {
  const { state } = hub.data
  await state.fleetProfiles.add({ name: 'field', digest: 'd', body: {}, createdBy: null }, 0)
  const expiresAtUs = state.clock.latestUs() + 3_600_000_000
  const key = {
    keyId: randomUUID(),
    name: 'token',
    scopes: ['fleet:join'],
    secretHash: hashSecret('t'),
    expiresAtUs,
  }
  await state.fleetTokens.create(key, 'field', 1)
  const { identity } = await openNodeKeys(data.state.nodeKeys, nodeId)
  const text = (key: Uint8Array) => Buffer.from(key).toString('base64url')
  await state.fleetMembers.join({
    ...{ tokenKeyId: key.keyId, nodeId, name: 'van', newKeyId: randomUUID() },
    ...{ signingKey: text(identity.signingKey), exchangeKey: text(identity.exchangeKey) },
    ...{ secretHash: hashSecret('van'), scopes, tables: [] },
  })
}
