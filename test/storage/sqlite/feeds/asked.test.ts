import path from 'node:path'
import t from 'tap'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { openState } from '../../../../src/storage/sqlite/state.js'

const VAN = '22222222-2222-4222-8222-222222222222'
const FEED = '33333333-3333-4333-8333-333333333333'

t.test(
  'asked feeds: what a node asks for, and where it is, of all its keys; closing twice is closing',
  async (t) => {
    const state = await openState(path.join(t.testdir(), 'state.db'), {
      keyring: createKeyring(new Uint8Array(32).fill(7)),
    })
    const { askedFeeds, keys } = state
    const start = { tableUuid: 'a', afterChange: 0, untilChange: 9, fromUs: null }
    const asked = { feedId: FEED, node: VAN, dataName: 'seen', columns: null, conds: null, start }
    const [one, two] = [
      '44444444-4444-4444-8444-444444444444',
      '55555555-5555-4555-8555-555555555555',
    ] as const
    for (const [at, keyId] of [one, two].entries())
      await keys.create({
        keyId,
        name: keyId,
        scopes: ['sync:read'],
        secretHash: new Uint8Array(32).fill(at),
        expiresAtUs: null,
      })
    await askedFeeds.keep(one, asked)
    await askedFeeds.keep(two, { ...asked, dataName: 'other' })
    t.match(await askedFeeds.ofNode(VAN), [
      { keyId: one, feed: { dataName: 'seen' }, told: null },
      { keyId: two, feed: { dataName: 'other' }, told: null },
    ])
    const told = { table: 'a', epoch: 1, cursor: 5 }
    await askedFeeds.noteTold(VAN, FEED, told)
    t.same(
      (await askedFeeds.ofNode(VAN)).map((each) => each.told),
      [told, told],
      'the key with which it asks now is not known to a bundle',
    )
    t.same(await askedFeeds.ofNode(FEED), [])
    await state.close()
    await state.close()
  },
)
