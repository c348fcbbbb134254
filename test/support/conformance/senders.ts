import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { State } from '../../../src/storage/state.js'
import { START_US, sessionKey } from './keys-and-sessions.js'

type Open = (t: Test) => Promise<Pick<State, 'feedSenders' | 'keys'> & { advance(ms: number): void }>

/** Nodes that send with a key. @param open fresh and empty, at `START_MS` */
export async function conformSenders(t: Test, open: Open): Promise<void> {
  await t.test('senders: a key is bound to the first node that uses it', async (t) => {
    const state = await open(t)
    const { feedSenders } = state
    const [keyId, van, base] = [await sessionKey(state), randomUUID(), randomUUID()]
    t.same(await feedSenders.find(keyId, van), { nodeId: undefined, otherKeyId: null })
    await Promise.all([feedSenders.bind(keyId, van), feedSenders.bind(keyId, van)])
    await feedSenders.bind(keyId, base)
    t.same(await feedSenders.find(keyId, base), { nodeId: van, otherKeyId: null })
  })

  await t.test('senders: another key of the node counts while it may sign in', async (t) => {
    const state = await open(t)
    const { feedSenders, keys } = state
    const van = randomUUID()
    const [first, second] = [await sessionKey(state), await sessionKey(state)]
    await feedSenders.bind(first, van)
    t.same(await feedSenders.find(second, van), { nodeId: undefined, otherKeyId: first })
    await keys.revoke(first)
    t.same(await feedSenders.find(second, van), { nodeId: undefined, otherKeyId: null })
    const expiring = await sessionKey(state, START_US + 1_000_000)
    await feedSenders.bind(expiring, van)
    t.same(await feedSenders.find(second, van), { nodeId: undefined, otherKeyId: expiring })
    state.advance(2000)
    t.same(await feedSenders.find(second, van), { nodeId: undefined, otherKeyId: null })
  })
}
