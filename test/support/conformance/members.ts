import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { hashSecret } from '../../../src/auth/secret.js'
import type { JoinRequest } from '../../../src/storage/exchange/fleet.js'
import type { State } from '../../../src/storage/state.js'

const HOUR_MS = 3_600_000

type FleetStores = Pick<
  State,
  | 'fleetTokens'
  | 'fleetProfiles'
  | 'fleetMembers'
  | 'fleetFiles'
  | 'keys'
  | 'clock'
  | 'askedFeeds'
  | 'feedSenders'
  | 'nodePeers'
>
type FleetState = FleetStores & { advance(ms: number): void }
type Open = (t: Test) => Promise<FleetState>

/** Gateways of a hub. @param open fresh and empty */
export async function conformMembers(t: Test, open: Open): Promise<void> {
  await t.test('members: nobody joins with a key that is no token, and nobody unknown ends', async (t) => {
    const { state } = await withToken(await open(t))
    const { fleetMembers } = state
    t.same(await fleetMembers.join(request(randomUUID(), randomUUID())), { kind: 'no_token' })
    t.same(await fleetMembers.list(), [])
    t.equal(await fleetMembers.end(randomUUID(), 'left'), undefined)
    t.equal(await fleetMembers.forget(randomUUID()), undefined)
  })

  await t.test('members: a repeat answers the same membership and counts no use', async (t) => {
    const { state, token } = await withToken(await open(t))
    const van = randomUUID()
    const first = await state.fleetMembers.join(request(token.keyId, van))
    const again = await state.fleetMembers.join(request(token.keyId, van))
    t.match([first.kind, again.kind], ['joined', 'repeated'])
    t.equal('member' in again && again.member.keyId, 'member' in first && first.member.keyId)
    t.equal((await state.fleetTokens.find(token.keyId))?.uses, 1)
    const other = await state.fleetMembers.join(request(token.keyId, randomUUID()))
    t.equal(other.kind, 'used_up')
    t.equal((await state.fleetMembers.list()).length, 1)
  })

  await t.test('members: of many that join at once, as many as the token has uses succeed', async (t) => {
    const { state, token } = await withToken(await open(t), 5)
    const nodes = Array.from({ length: 20 }, () => randomUUID())
    const outcomes = await Promise.all(
      nodes.map((node) => state.fleetMembers.join(request(token.keyId, node))),
    )
    t.equal(outcomes.filter(({ kind }) => kind === 'joined').length, 5)
    t.equal(outcomes.filter(({ kind }) => kind === 'used_up').length, 15)
    t.match(await state.fleetTokens.find(token.keyId), { uses: 5, maxUses: 5 })
  })

  await t.test('members: of two that join at once with a token for one, exactly one succeeds', async (t) => {
    for (let round = 0; round < 10; round++) {
      const { state, token } = await withToken(await open(t))
      const joins = [randomUUID(), randomUUID()].map((node) =>
        state.fleetMembers.join(request(token.keyId, node)),
      )
      const kinds = (await Promise.all(joins)).map(({ kind }) => kind)
      t.same(kinds.sort(), ['joined', 'used_up'])
      t.equal((await state.fleetTokens.find(token.keyId))?.uses, 1)
      t.equal((await state.fleetMembers.list()).length, 1)
    }
  })

  await t.test('members: a node that asks twice at once joins once', async (t) => {
    const { state, token } = await withToken(await open(t), 9)
    const van = randomUUID()
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => state.fleetMembers.join(request(token.keyId, van))),
    )
    t.same(outcomes.map(({ kind }) => kind).sort(), ['joined', 'repeated', 'repeated'])
    t.equal(new Set(outcomes.map((outcome) => 'member' in outcome && outcome.member.keyId)).size, 1)
    t.equal((await state.fleetTokens.find(token.keyId))?.uses, 1)
  })

  await t.test(
    'members: its key sends the tables of its profile, and its public keys are noted',
    async (t) => {
      const { state, token } = await withToken(await open(t), 9)
      const { fleetMembers, askedFeeds, feedSenders, nodePeers } = state
      const [van, other] = [randomUUID(), randomUUID()]
      const asked = request(token.keyId, van, { tables: ['seen', 'flood'] })
      const joined = await fleetMembers.join(asked)
      await fleetMembers.join(request(token.keyId, other))
      const keyId = 'member' in joined ? joined.member.keyId : ''
      t.same(await askedFeeds.granted(keyId), ['flood', 'seen'])
      t.match(await feedSenders.find(keyId, van), { nodeId: van })
      const keys = { signingKey: asked.signingKey, exchangeKey: asked.exchangeKey }
      const found = async (id: string) => {
        const peer = await nodePeers.find(id)
        const text = (key: Uint8Array | undefined) => Buffer.from(key ?? []).toString('base64url')
        return { name: peer?.name, signingKey: text(peer?.signingKey), exchangeKey: text(peer?.exchangeKey) }
      }
      t.same(await found(van), { name: 'van', ...keys })
      t.match(await found(other), { name: `van-${other.slice(0, 8)}` }, 'two of one name')
      await nodePeers.remove(van)
      t.match(await fleetMembers.join(request(token.keyId, van)), { kind: 'repeated' })
      t.same(await found(van), { name: 'van', ...keys }, 'a repeat notes them again')
      await fleetMembers.end(van, 'left')
      await fleetMembers.forget(van)
      const [signingKey, exchangeKey] = [publicKey('new signing'), publicKey('new exchange')]
      await fleetMembers.join(request(token.keyId, van, { signingKey, exchangeKey }))
      t.same(await found(van), { name: 'van', signingKey, exchangeKey }, 'those of before are replaced')
    },
  )

  await t.test('members: other public keys of a known node are refused', async (t) => {
    const { state, token } = await withToken(await open(t), 9)
    const van = randomUUID()
    await state.fleetMembers.join(request(token.keyId, van))
    for (const more of [{ signingKey: 'other' }, { exchangeKey: 'other' }])
      t.equal((await state.fleetMembers.join(request(token.keyId, van, more))).kind, 'other_keys')
    t.equal((await state.fleetTokens.find(token.keyId))?.uses, 1)
  })

  await t.test('members: one that left joins again, with another key', async (t) => {
    const { state, token } = await withToken(await open(t), 9)
    const van = randomUUID()
    const first = await state.fleetMembers.join(request(token.keyId, van))
    t.match(await state.fleetMembers.end(van, 'left'), { state: 'left' })
    const again = await state.fleetMembers.join(request(token.keyId, van))
    if (!('member' in first && 'member' in again)) throw new Error('not joined')
    t.not(first.member.keyId, again.member.keyId)
    t.equal(await state.keys.findActive(first.member.keyId), undefined)
    t.match(await state.keys.findActive(again.member.keyId), { scopes: ['fleet:member'] })
    t.match(await state.fleetMembers.find(van), { state: 'member', endedAtUs: null })
  })

  await t.test('members: a revoked one stays revoked until it is forgotten', async (t) => {
    const { state, token } = await withToken(await open(t), 9)
    const { fleetMembers, keys } = state
    const van = randomUUID()
    const joined = await fleetMembers.join(request(token.keyId, van))
    t.equal(await fleetMembers.forget(van), undefined, 'a member is not forgotten')
    await fleetMembers.end(van, 'revoked')
    t.match(await fleetMembers.end(van, 'left'), { state: 'revoked' })
    t.equal('member' in joined && (await keys.findActive(joined.member.keyId)), undefined)
    t.equal((await fleetMembers.join(request(token.keyId, van))).kind, 'revoked')
    t.match(await fleetMembers.forget(van), { nodeId: van })
    t.equal((await fleetMembers.join(request(token.keyId, van))).kind, 'joined')
  })

  await t.test('members: a key that an operator revokes revokes its gateway', async (t) => {
    const { state, token } = await withToken(await open(t), 9)
    const van = randomUUID()
    const joined = await state.fleetMembers.join(request(token.keyId, van))
    await state.keys.revoke('member' in joined ? joined.member.keyId : '')
    t.match(await state.fleetMembers.find(van), { state: 'revoked', endedAtUs: Number })
    t.equal((await state.fleetMembers.join(request(token.keyId, van))).kind, 'revoked')
  })

  await t.test('members: reports of a day are kept, one for each ten minutes', async (t) => {
    const { state, token } = await withToken(await open(t), 9)
    const { fleetMembers } = state
    const van = randomUUID()
    await fleetMembers.join(request(token.keyId, van))
    const report = (n: number) =>
      fleetMembers.report(van, { appliedDigest: 'd', triedDigest: 'd', outcome: 'applied', report: { n } })
    for (let n = 0; n < 30 * 12; n++) {
      await report(n)
      state.advance(HOUR_MS / 12)
    }
    const reports = await fleetMembers.reports(van)
    t.equal(reports.length, 144)
    t.match(reports[0], { report: { n: 359 } })
    t.match(await fleetMembers.find(van), { lastReport: { n: 359 }, appliedDigest: 'd', outcome: 'applied' })
    state.advance(-200 * HOUR_MS)
    await report(360)
    t.match(await fleetMembers.reports(van), [{ report: { n: 360 } }], 'a clock that was ahead keeps none')
  })

  await t.test(
    'members: those of a profile, with the time at which the last profile was tried first',
    async (t) => {
      const { state, token } = await withToken(await open(t), 9)
      const { fleetMembers, clock } = state
      const [van, other, gone] = [randomUUID(), randomUUID(), randomUUID()]
      for (const node of [van, other, gone]) await fleetMembers.join(request(token.keyId, node))
      await fleetMembers.end(gone, 'left')
      const report = (triedDigest: string, ready: boolean) =>
        fleetMembers.report(van, { appliedDigest: 'd', triedDigest, outcome: 'applied', report: { ready } })
      const firstUs = clock.nowUs()
      await report('d', true)
      state.advance(HOUR_MS)
      await report('d', false)
      const found = await fleetMembers.ofProfile('field')
      t.same(new Set(found.map(({ nodeId }) => nodeId)), new Set([van, other]))
      const ofVan = (rows: typeof found) => rows.find(({ nodeId }) => nodeId === van)
      t.match(ofVan(found), { isReady: false, appliedDigest: 'd' })
      t.ok((ofVan(found)?.triedAtUs ?? 0) < firstUs + HOUR_MS * 500)
      await report('e', true)
      t.ok((ofVan(await fleetMembers.ofProfile('field'))?.triedAtUs ?? 0) > firstUs + HOUR_MS * 500)
      const withItems = async (...items: object[]) => {
        const body = { ready: true, profile: { items } }
        await fleetMembers.report(van, {
          appliedDigest: 'e',
          triedDigest: 'e',
          outcome: 'partly',
          report: body,
        })
        return ofVan(await fleetMembers.ofProfile('field'))
      }
      const release = (state: string) => ({ item: 'release linux-x64', state })
      t.match(await withItems({ item: 'up seen', state: 'waiting' }), { release: null })
      t.match(await withItems(release('waiting')), { release: 'open' })
      t.match(await withItems(release('rolled_back')), { release: 'rolled_back' })
      t.match(await withItems(release('refused')), { release: null })
      const before = await withItems({ item: 'up seen', state: 'waiting' }, release('staged'))
      t.match(before, { release: 'open' })
      state.advance(HOUR_MS)
      const running = await withItems()
      t.match(running, { release: null })
      t.ok(Number(running?.triedAtUs) > Number(before?.triedAtUs), 'its time begins when the release runs')
      state.advance(HOUR_MS)
      t.equal((await withItems())?.triedAtUs, running?.triedAtUs)
      t.same(await fleetMembers.ofProfile('nobody'), [])
    },
  )

  await t.test('members: counts those that are silent, in trouble, and gone', async (t) => {
    const { state, token } = await withToken(await open(t), 9)
    const { fleetMembers, clock } = state
    const nodes = Array.from({ length: 5 }, () => randomUUID())
    for (const node of nodes) await fleetMembers.join(request(token.keyId, node))
    const [fine = '', unready = '', back = '', left = '', revoked = ''] = nodes
    const said = (node: string, ready: boolean, outcome: 'applied' | 'put_back') =>
      fleetMembers.report(node, { appliedDigest: null, triedDigest: 'd', outcome, report: { ready } })
    await said(fine, true, 'applied')
    await said(unready, false, 'applied')
    await said(back, true, 'put_back')
    await said(left, false, 'applied')
    await fleetMembers.end(left, 'left')
    const { keyId = '' } = (await fleetMembers.find(revoked)) ?? {}
    await state.keys.revoke(keyId)
    const counts = { member: 3, left: 1, revoked: 1, silent: 0, trouble: 2 }
    t.same(await fleetMembers.summary(clock.nowUs() - 3_600_000_000), counts)
    t.same(await fleetMembers.summary(clock.nowUs() + 3_600_000_000), { ...counts, silent: 3 })
    const failed = (reason: string, itemState: string) =>
      fleetMembers.report(fine, {
        ...{ appliedDigest: 'd', triedDigest: 'd', outcome: 'partly' },
        report: {
          ready: true,
          profile: { items: [{ item: 'release linux-x64', state: itemState, reason }] },
        },
      })
    await failed('"state":"rolled_back"', 'staged')
    t.match(await fleetMembers.summary(0), { trouble: 2 })
    await failed('', 'rolled_back')
    t.match(await fleetMembers.summary(0), { trouble: 3 })
  })
  await t.test('members: listed by their worst trouble, counted, on pages, and by position', async (t) => {
    const { state, token } = await withToken(await open(t), 20)
    const { fleetMembers, clock } = state
    const names = ['van 9', 'Van 8', 'car', 'bus', 'tram', 'boat', 'cart', 'bike', 'left', 'fine', 'sled']
    const nodes = new Map(names.map((name) => [name, randomUUID()]))
    const nodeOf = (name: string) => nodes.get(name) ?? ''
    for (const [name, node] of nodes) await fleetMembers.join(request(token.keyId, node, { name }))
    state.advance(2 * HOUR_MS)
    const nowUs = clock.nowUs()
    const said = async (name: string, report: object, more: object = {}) =>
      await fleetMembers.report(nodeOf(name), {
        ...{ appliedDigest: 'd', triedDigest: 'd', outcome: 'applied', ...more },
        report: {
          ready: true,
          doctor: null,
          backlog: { oldest_s: null },
          clock_us: clock.nowUs(),
          ...report,
        },
      })
    await said('Van 8', { ready: false, position: [139.5, 35.25] })
    await said('car', {}, { outcome: 'put_back' })
    await said('bus', { backlog: { oldest_s: 3601 }, position: [-10, 2.5] })
    await said('tram', { clock_us: nowUs - 301_000_000 })
    await said('boat', { doctor: 'disk: full' })
    await said('cart', {}, { appliedDigest: 'older' })
    await said('sled', {}, { outcome: 'partly' })
    await said('fine', { backlog: { oldest_s: 3600 }, position: null })
    await fleetMembers.end(nodeOf('left'), 'left')
    await fleetMembers.end(nodeOf('bike'), 'revoked')
    const page = async (more: object) =>
      (await fleetMembers.page({ order: 'trouble', offset: 0, nowUs, ...more })).map(
        ({ name, trouble }) => `${name}: ${trouble}`,
      )
    const worstFirst = [
      ...['bike: revoked', 'van 9: silent', 'Van 8: not_ready', 'car: put_back', 'bus: behind'],
      ...['tram: clock', 'boat: finding', 'sled: partly', 'cart: outdated', 'fine: none', 'left: left'],
    ]
    t.same(await page({}), worstFirst)
    t.same(await page({ limit: 3, offset: 4 }), worstFirst.slice(4, 7))
    t.same(await page({ order: 'name' }), [...worstFirst].sort())
    t.same(await page({ name: 'VAN' }), ['van 9: silent', 'Van 8: not_ready'])
    t.same(await page({ name: '%' }), [], 'no character has a meaning')
    t.same(await page({ troubles: ['none', 'clock'] }), ['tram: clock', 'fine: none'])
    t.same(await page({ troubles: [] }), [])
    t.same(await page({ profile: 'other' }), [])
    const once = { revoked: 1, silent: 1, not_ready: 1, put_back: 1, behind: 1, clock: 1, finding: 1 }
    t.same(await fleetMembers.count({ nowUs }), { ...once, partly: 1, outdated: 1, none: 1, left: 1 })
    t.match(await fleetMembers.count({ nowUs, name: 'van', profile: 'field' }), {
      silent: 1,
      not_ready: 1,
      none: 0,
    })
    const places = [
      { nodeId: nodeOf('Van 8'), name: 'Van 8', trouble: 'not_ready', lng: 139.5, lat: 35.25 },
      { nodeId: nodeOf('bus'), name: 'bus', trouble: 'behind', lng: -10, lat: 2.5 },
    ]
    t.same(await fleetMembers.positions({ nowUs }, 100), places)
    t.same(await fleetMembers.positions({ nowUs }, 1), places.slice(0, 1))
    t.same(await fleetMembers.positions({ nowUs, troubles: ['behind'] }, 100), places.slice(1))
    const { trouble, ...member } =
      (await fleetMembers.page({ order: 'name', offset: 0, nowUs, name: 'fine' }))[0] ?? {}
    t.equal(trouble, 'none')
    t.same(member, await fleetMembers.find(nodeOf('fine')), 'the whole gateway')
    const { keyId = '' } = (await fleetMembers.find(nodeOf('fine'))) ?? {}
    await state.keys.revoke(keyId)
    t.same(await page({ name: 'fine' }), ['fine: revoked'], 'by its key')
  })
}

/** Files of a hub. @param open fresh and empty */
export async function conformFleetFiles(t: Test, open: Open): Promise<void> {
  await t.test('files: noted by digest, by name; one that is known gets the name', async (t) => {
    const { fleetFiles } = await open(t)
    const file = await fleetFiles.add({ sha256: digest('a'), name: 'town.map', sizeBytes: 5_000_000_000 })
    t.match(file, { sha256: digest('a'), name: 'town.map', sizeBytes: 5_000_000_000 })
    await fleetFiles.add({ sha256: digest('b'), name: 'Zoo', sizeBytes: 0 })
    const again = await fleetFiles.add({ sha256: digest('a'), name: 'air.map', sizeBytes: 5_000_000_000 })
    t.same(again, { ...file, name: 'air.map' })
    t.same(await fleetFiles.find(digest('a')), again)
    t.equal(await fleetFiles.find(digest('c')), undefined)
    t.same(
      (await fleetFiles.list()).map(({ name }) => name),
      ['Zoo', 'air.map'],
    )
  })

  await t.test('files: one that a profile names stays, until no gateway can get it', async (t) => {
    const { state, token } = await withToken(await open(t), 9)
    const { fleetFiles, fleetProfiles, fleetMembers } = state
    await fleetFiles.add({ sha256: digest('a'), name: 'town.map', sizeBytes: 1 })
    const version = (name: string, body: object) =>
      fleetProfiles.add({ name: 'field', digest: name, body, createdBy: null }, null)
    await version('with', { maps: [{ sha256: digest('a') }] })
    t.match(await fleetFiles.remove(digest('a')), { namedBy: { name: 'field', version: 2 } })
    await version('without', {})
    t.match(await fleetFiles.remove(digest('a')), { namedBy: { version: 2 } }, 'the one before the newest')
    await version('newest', { other: 1 })
    const van = randomUUID()
    await fleetMembers.join(request(token.keyId, van))
    const report = { appliedDigest: 'with', triedDigest: 'with', outcome: 'applied' as const, report: {} }
    await fleetMembers.report(van, report)
    t.match(await fleetFiles.remove(digest('a')), { namedBy: { version: 2 } }, 'a gateway has it')
    await fleetMembers.report(van, { ...report, appliedDigest: 'newest' })
    t.match(await fleetFiles.remove(digest('a')), { file: { name: 'town.map' }, namedBy: null })
    t.equal(await fleetFiles.remove(digest('a')), undefined)
    t.same(await fleetFiles.list(), [])
  })
}

const digest = (letter: string) => letter.repeat(64)

async function withToken(state: FleetState, maxUses = 1) {
  await state.fleetProfiles.add({ name: 'field', digest: 'd', body: {}, createdBy: null }, 0)
  const token = await makeToken(state, 'field', maxUses)
  return { state, token }
}

export async function makeToken({ fleetTokens, clock }: FleetState, profile: string, maxUses: number) {
  const key = { keyId: randomUUID(), name: 'token', scopes: ['fleet:join'], secretHash: hashSecret('t') }
  const secretHash = hashSecret(key.keyId)
  const expiresAtUs = clock.latestUs() + HOUR_MS * 1000
  const token = await fleetTokens.create({ ...key, secretHash, expiresAtUs }, profile, maxUses)
  if (token === undefined) throw new Error('the token was not made')
  return token
}

export const request = (
  tokenKeyId: string,
  nodeId: string,
  more: Partial<JoinRequest> = {},
): JoinRequest => ({
  ...{ tokenKeyId, nodeId, name: 'van', newKeyId: randomUUID() },
  ...{ signingKey: publicKey(`signing ${nodeId}`), exchangeKey: publicKey(`exchange ${nodeId}`) },
  ...{ secretHash: hashSecret(`secret of ${nodeId}`), scopes: ['fleet:member'], tables: [], ...more },
})

/** 32 bytes that belong to a text, base64url. */
const publicKey = (text: string) => Buffer.from(hashSecret(text)).toString('base64url')
