import type { Test } from 'tap'
import type { Verification } from '../../src/feeds/verify/deps.js'
import { DAMAGES } from './damage.js'
import type { FeedNode } from './feed-node.js'
import { seeded } from './random-graph.js'

/** A feed of a world that was compared. */
export interface VerifiedFeed {
  /** node that has the feed, direction, other node */
  readonly feed: string
  readonly sender: FeedNode
  readonly receiver: FeedNode
  readonly isEqual: boolean
  readonly days: Verification['days']
  /** whether the rows of both sides are equal */
  readonly expected: boolean
}

/**
 * Compares each feed as `sync.verify` does, and by the rows of both sides. They differ where the sender has lost rows, to
 * an older backup or with its table, that the receiver keeps.
 */
export async function verifyAll(nodes: readonly FeedNode[]): Promise<VerifiedFeed[]> {
  const found: VerifiedFeed[] = []
  for (const node of nodes)
    for (const { to, direction, isEqual, days } of await node.verify()) {
      const other = nodes.find(({ name }) => name === to) as FeedNode // each feed goes to a node of the world
      const [sender, receiver] = direction === 'up' ? [node, other] : [other, node]
      const expected = await hasSameRows(sender, receiver)
      found.push({ feed: `${node.name} ${direction} ${to}`, sender, receiver, isEqual, days, expected })
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

/** Damages a row of a receiver whose feed was equal: `sync.verify` of the feed names its day and origin. */
export async function findsDamage(
  t: Test,
  nodes: readonly FeedNode[],
  verified: readonly VerifiedFeed[],
  seed: number,
): Promise<void> {
  const random = seeded(seed)
  const how = DAMAGES[seed % DAMAGES.length]!
  const equal = verified.filter(({ isEqual }) => isEqual)
  for (const { feed, sender, receiver } of equal.toSorted(() => random() - 0.5)) {
    const sent = await sender.rows()
    const origins = [...new Set(sent.map(({ origin }) => origin))].filter((id) => id !== receiver.nodeId)
    const row = await receiver.damage(how, origins, random)
    if (row === undefined) continue
    const again = (await verifyAll(nodes)).find((one) => one.feed === feed)
    t.equal(again?.isEqual, false, `seed ${seed}: a row is ${how} at the receiver of ${feed}`)
    t.ok(
      again?.days.some(({ day, origin }) => day === row.day && origin === row.origin),
      `seed ${seed}: the ${row.day} of ${row.origin} is named`,
    )
    return
  }
  t.pass(`seed ${seed}: no feed has a row of another node`)
}
