import t from 'tap'
import type { FeedNode } from '../support/feed-node.js'
import { startWorld, TOPOLOGIES } from '../support/feed-world.js'

/** Seeds for each topology; FEED_SEEDS asks for more, FEED_SEED for one. */
const SEEDS = Number(process.env.FEED_SEEDS ?? 1)
const ONLY = process.env.FEED_SEED
const STEPS = 60

for (const topology of TOPOLOGIES)
  t.test(`feeds: whatever happens, each row arrives once: ${topology.name}`, async (t) => {
    const seeds = ONLY === undefined ? Array.from({ length: SEEDS }, (_, at) => at + 1) : [Number(ONLY)]
    for (const seed of seeds) {
      const world = await startWorld(topology, seed, t.testdir())
      try {
        await world.run(STEPS)
        const wrong = await world.settle(15_000)
        t.same(wrong.slice(0, 30), [], `seed ${seed}: ${wrong.length === 0 ? 'equal' : world.log.join(', ')}`)
        for (const { feed, isEqual, expected } of await verifyAll(world.nodes))
          t.equal(isEqual, expected, `seed ${seed}: sync.verify of ${feed}`)
      } finally {
        await world.stop()
      }
    }
  })

/**
 * Compares each feed as `sync.verify` does, and by the rows of both sides. They differ where the sender has lost rows, to
 * an older backup or with its table, that the receiver keeps.
 */
async function verifyAll(
  nodes: readonly FeedNode[],
): Promise<{ feed: string; isEqual: boolean; expected: boolean }[]> {
  const found: { feed: string; isEqual: boolean; expected: boolean }[] = []
  for (const node of nodes)
    for (const { to, direction, isEqual } of await node.verify()) {
      const other = nodes.find(({ name }) => name === to) as FeedNode // each feed goes to a node of the world
      const [sender, receiver] = direction === 'up' ? [node, other] : [other, node]
      const expected = await hasSameRows(sender, receiver)
      found.push({ feed: `${node.name} ${direction} ${to}`, isEqual, expected })
    }
  return found
}

/** Compares the rows of the origins that the sender has, without those of the receiver. */
async function hasSameRows(sender: FeedNode, receiver: FeedNode): Promise<boolean> {
  const [sent, received] = [await sender.rows(), await receiver.rows()]
  const origins = new Set([sender.nodeId, ...sent.map(({ origin }) => origin)])
  origins.delete(receiver.nodeId)
  const textOf = (rows: typeof sent) =>
    rows
      .filter(({ origin }) => origins.has(origin))
      .map(({ origin, k, note }) => `${origin} ${k} ${note}`)
      .sort()
      .join()
  return textOf(sent) === textOf(received)
}
