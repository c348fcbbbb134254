import { randomBytes, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { State } from '../../../src/storage/state.js'

type Open<Part extends keyof State> = (t: Test) => Promise<Pick<State, Part>>

/** Facts about a node. @param open fresh and empty */
export async function conformMeta(t: Test, open: Open<'meta'>): Promise<void> {
  await t.test('meta: the node id is made once and kept', async (t) => {
    const { meta } = await open(t)
    t.equal(await meta.nodeId(), undefined)
    const nodeIds = await Promise.all([1, 2, 3, 4].map(() => meta.claimNodeId(randomUUID())))
    t.equal(new Set(nodeIds).size, 1)
    t.equal(await meta.claimNodeId(randomUUID()), nodeIds[0])
    t.equal(await meta.nodeId(), nodeIds[0])
  })

  await t.test('meta: the recorded time only grows, by its number and not by its text', async (t) => {
    const { meta } = await open(t)
    t.equal(await meta.lastSeenUs(), 0)
    await meta.recordTime(2000)
    await meta.recordTime(1000)
    await meta.recordTime(999)
    t.equal(await meta.lastSeenUs(), 2000)
    await meta.recordTime(1_798_761_600_000_001)
    t.equal(await meta.lastSeenUs(), 1_798_761_600_000_001)
  })

  await t.test('meta: facts are noted over earlier ones', async (t) => {
    const { meta } = await open(t)
    t.equal(await meta.noted('fact'), undefined)
    await meta.note('fact', 'first')
    await meta.note('fact', 'ä "\n')
    await meta.note('other', '')
    t.equal(await meta.noted('fact'), 'ä "\n')
    t.equal(await meta.noted('other'), '')
  })
}

/** Acts on their way to the log. @param open fresh and empty, on a clock that stands still until it is moved */
export async function conformAudit(
  t: Test,
  open: (t: Test) => Promise<Pick<State, 'audit'> & { advance(ms: number): void }>,
): Promise<void> {
  await t.test('audit: acts are handed over once, oldest first, with their time', async (t) => {
    const state = await open(t)
    await state.audit.handOver(() => t.fail('there are none'))
    for (const name of ['a', 'b', 'c']) {
      await state.audit.note({ act: 'key created', name, count: 1, none: null })
      state.advance(1)
    }
    const seen: object[] = []
    await state.audit.handOver((event) => seen.push(event))
    t.match(seen, [
      { act: 'key created', name: 'a', count: 1, none: null, atUs: Number },
      { name: 'b' },
      { name: 'c' },
    ])
    await state.audit.handOver(() => t.fail('all were handed over'))
  })

  await t.test('audit: an error of the log keeps all of them', async (t) => {
    const state = await open(t)
    await state.audit.note({ act: 'first' })
    state.advance(1)
    await state.audit.note({ act: 'second' })
    const broken = state.audit.handOver(({ act }) => {
      if (act === 'second') throw new Error('the log is closed')
    })
    await t.rejects(broken, /the log is closed/)
    const seen: string[] = []
    await state.audit.handOver(({ act }) => seen.push(act))
    t.same(seen, ['first', 'second'])
  })
}

/** Keys of nodes. @param open fresh and empty, with a keyring */
export async function conformNodeKeys(t: Test, open: Open<'nodeKeys' | 'nodePeers'>): Promise<void> {
  await t.test('node keys: both pairs come from one claim', async (t) => {
    const { nodeKeys } = await open(t)
    t.equal(await nodeKeys.find(), undefined)
    const claims = await Promise.all([1, 2, 3, 4].map(() => nodeKeys.claim(newPairs())))
    const [first] = claims
    for (const claim of claims) t.same(claim, first)
    t.same(await nodeKeys.find(), first)
    const other = newPairs()
    t.same(await nodeKeys.claim(other), first)
    await nodeKeys.replace(other)
    t.same(textOf(await nodeKeys.find()), textOf(other))
  })

  await t.test('peers: found by name and id; one of each', async (t) => {
    const { nodePeers } = await open(t)
    const key = new Uint8Array(randomBytes(32))
    const peer = { nodeId: randomUUID(), name: 'base', signingKey: key, exchangeKey: key }
    t.match(await nodePeers.add(peer), { nodeId: peer.nodeId, name: 'base', isRelay: false, endpoint: null })
    t.equal(await nodePeers.add(peer), undefined, 'it is known')
    t.equal(await nodePeers.add({ ...peer, name: 'other' }), undefined, 'the node is known')
    t.equal(await nodePeers.add({ ...peer, nodeId: randomUUID() }), undefined, 'the name is taken')
    const relay = { ...peer, nodeId: randomUUID(), name: 'Relay', isRelay: true, endpoint: 'https://relay' }
    t.match(await nodePeers.add(relay), { isRelay: true, endpoint: 'https://relay' })
    t.same(Buffer.from((await nodePeers.find('base'))?.signingKey ?? []), Buffer.from(key))
    t.match(await nodePeers.find(peer.nodeId), { name: 'base' })
    t.same(
      (await nodePeers.list()).map(({ name }) => name),
      ['Relay', 'base'],
      'by the bytes of the name',
    )
    t.match(await nodePeers.remove('base'), { nodeId: peer.nodeId })
    t.equal(await nodePeers.remove('base'), undefined)
    t.equal(await nodePeers.remove('\u0000'), undefined)
    t.equal(await nodePeers.find('base'), undefined)
  })
}

function newPairs() {
  const pair = () => ({
    publicKey: new Uint8Array(randomBytes(32)),
    privateKey: new Uint8Array(randomBytes(32)),
  })
  return { signing: pair(), exchange: pair() }
}

type Pairs = Readonly<
  Record<'signing' | 'exchange', { publicKey: Uint8Array; privateKey: Uint8Array | null }>
>

const textOf = (pairs: Pairs | undefined) =>
  pairs === undefined
    ? undefined
    : [pairs.signing, pairs.exchange].map(({ publicKey, privateKey }) => [
        Buffer.from(publicKey).toString('hex'),
        Buffer.from(privateKey ?? []).toString('hex'),
      ])
