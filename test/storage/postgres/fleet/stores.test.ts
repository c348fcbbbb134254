import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { conformTokensAndProfiles } from '../../../support/conformance/fleet.js'
import {
  conformFleetFiles,
  conformMembers,
  makeToken,
  request,
} from '../../../support/conformance/members.js'
import { noPostgres } from '../../../support/postgres.js'
import { postgresStates } from '../../../support/postgres-state.js'

const skip = noPostgres()

t.test('a fleet on PostgreSQL', { skip }, async (t) => {
  const open = await postgresStates(t)
  await conformAll(t, open)

  await t.test('members: of many that join at two processes, as many as the token has uses', async (t) => {
    const a = await open(t)
    const b = await a.another()
    await a.fleetProfiles.add({ name: 'field', digest: 'd', body: {}, createdBy: null }, 0)
    const { keyId } = await makeToken(a, 'field', 5)
    const nodes = Array.from({ length: 20 }, () => randomUUID())
    const joins = [...nodes, ...nodes].map((node, i) =>
      (i % 2 === 0 ? a : b).fleetMembers.join(request(keyId, node)),
    )
    const kinds = (await Promise.all(joins)).map(({ kind }) => kind)
    t.equal(kinds.filter((kind) => kind === 'joined').length, 5)
    t.equal(kinds.filter((kind) => kind === 'repeated').length, 5)
    t.equal(kinds.filter((kind) => kind === 'used_up').length, 30)
    t.match(await b.fleetTokens.find(keyId), { uses: 5 })
    t.equal((await a.fleetMembers.list()).length, 5)
  })

  await t.test(
    'members: of two processes with a token for one gateway, exactly one takes one in',
    async (t) => {
      const a = await open(t)
      const b = await a.another()
      await a.fleetProfiles.add({ name: 'field', digest: 'd', body: {}, createdBy: null }, 0)
      for (let round = 0; round < 20; round++) {
        const { keyId } = await makeToken(a, 'field', 1)
        const joins = [a, b].map(({ fleetMembers }) => fleetMembers.join(request(keyId, randomUUID())))
        const kinds = (await Promise.all(joins)).map(({ kind }) => kind)
        t.same(kinds.sort(), ['joined', 'used_up'])
        t.match(await b.fleetTokens.find(keyId), { uses: 1 })
      }
      t.equal((await a.fleetMembers.list()).length, 20)
    },
  )

  await t.test('members: many that join at once need few transactions', async (t) => {
    const state = await open(t)
    await state.fleetProfiles.add({ name: 'field', digest: 'd', body: {}, createdBy: null }, 0)
    const { keyId } = await makeToken(state, 'field', 1000)
    const xid = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS "xid"'
    const before = await state.db.read.get<{ xid: number }>(xid)
    const joins = Array.from({ length: 150 }, () => state.fleetMembers.join(request(keyId, randomUUID())))
    const outcomes = await Promise.all(joins)
    t.equal(outcomes.filter(({ kind }) => kind === 'joined').length, 150)
    const after = await state.db.read.get<{ xid: number }>(xid)
    t.ok((after?.xid ?? 0) - (before?.xid ?? 0) < 10)
    t.match(await state.fleetTokens.find(keyId), { uses: 150 })
  })

  await t.test('members: one that joins again while another secret is taken changes no other', async (t) => {
    const state = await open(t)
    await state.fleetProfiles.add({ name: 'field', digest: 'd', body: {}, createdBy: null }, 0)
    const { keyId } = await makeToken(state, 'field', 10)
    const [van, thief, fine] = [randomUUID(), randomUUID(), randomUUID()]
    const first = request(keyId, van)
    await state.fleetMembers.join(first)
    // the secret of another gateway fails alone: those that wait beside it join
    const outcomes = await Promise.allSettled([
      state.fleetMembers.join(request(keyId, thief, { secretHash: first.secretHash })),
      state.fleetMembers.join(request(keyId, fine)),
    ])
    t.match(outcomes, [{ status: 'rejected' }, { status: 'fulfilled', value: { kind: 'joined' } }])
    t.match(await state.fleetTokens.find(keyId), { uses: 2 })
    t.equal(await state.fleetMembers.find(thief), undefined)
  })

  await t.test('members: a report with what PostgreSQL refuses in JSON is kept as it came', async (t) => {
    const state = await open(t)
    await state.fleetProfiles.add({ name: 'field', digest: 'd', body: {}, createdBy: null }, 0)
    const { keyId } = await makeToken(state, 'field', 5)
    const van = randomUUID()
    await state.fleetMembers.join(request(keyId, van))
    const reports = [
      { ready: true, profile: { items: [{ item: 'release \u0000', state: 'staged' }, 5] } },
      null,
      5,
    ]
    for (const report of reports) {
      const tried = { appliedDigest: null, triedDigest: null, outcome: null }
      await state.fleetMembers.report(van, { ...tried, report })
      t.same((await state.fleetMembers.find(van))?.lastReport, report)
      t.equal((await state.fleetMembers.ofProfile('field')).length, 1)
    }
    const none = { appliedDigest: null, triedDigest: null, outcome: null, report: {} }
    await t.rejects(state.fleetMembers.report(randomUUID(), none), /found no gateway/)
  })
})

t.test('the same where the answers of commits are lost', { skip }, async (t) => {
  // of hundreds of reports not each one: a lost answer costs 50 ms
  await conformAll(
    t,
    await postgresStates(t, (commits) => commits % 2 === 1 && (commits < 150 || commits % 15 === 0)),
  )
})

async function conformAll(t: Test, open: Awaited<ReturnType<typeof postgresStates>>): Promise<void> {
  await conformTokensAndProfiles(t, open)
  await conformMembers(t, open)
  await conformFleetFiles(t, open)
}
