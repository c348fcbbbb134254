import FlatQueue from 'flatqueue'
import t from 'tap'
import { createLabels, offer } from '../../../src/routing/search/time-labels.js'

const NODE = 3
const SLOT = 1

interface Path {
  costMs: number
  clockMs: number
  arc: number
}

/**
 * Offers paths to one node in one slot, one after another.
 *
 * @returns the path that its label has at the end
 */
function bestOf(paths: readonly Path[], settleAfter = paths.length) {
  const labels = createLabels(5)
  const queue = new FlatQueue<number>()
  for (const [i, { costMs, clockMs, arc }] of paths.entries()) {
    if (i === settleAfter) labels.isSettled[0] = 1
    offer(labels, queue, NODE, SLOT, costMs, 10, clockMs, arc, i)
  }
  const [costMs, clockMs, arc, parent] = [labels.costMs, labels.clockMs, labels.arc, labels.parent].map(
    (values) => values[0],
  )
  return {
    costMs,
    clockMs,
    arc,
    parent,
    labels: labels.count,
    queued: queue.length,
    leastMs: queue.peekValue(),
  }
}

t.test(
  'offer: the cheaper path wins, then the earlier, then the one with the smaller last arc',
  async (t) => {
    const base = { costMs: 100, clockMs: 50, arc: 7 }
    const rows: [title: string, Path, isTaken: boolean, queued: number][] = [
      ['cheaper, though later and by a larger arc', { costMs: 99, clockMs: 60, arc: 9 }, true, 2],
      ['more expensive, though earlier and by a smaller arc', { costMs: 101, clockMs: 40, arc: 1 }, false, 1],
      ['as cheap and earlier, though by a larger arc', { costMs: 100, clockMs: 49, arc: 9 }, true, 1],
      ['as cheap and later, though by a smaller arc', { costMs: 100, clockMs: 51, arc: 1 }, false, 1],
      ['as cheap, at the same time, by a smaller arc', { costMs: 100, clockMs: 50, arc: 6 }, true, 1],
      ['as cheap, at the same time, by a larger arc', { costMs: 100, clockMs: 50, arc: 8 }, false, 1],
      ['equal in all', { costMs: 100, clockMs: 50, arc: 7 }, false, 1],
    ]
    for (const [title, path, isTaken, queued] of rows) {
      const expected = isTaken ? { ...path, parent: 1 } : { ...base, parent: 0 }
      const leastMs = Math.min(base.costMs, path.costMs) + 10
      t.same(bestOf([base, path]), { ...expected, labels: 1, queued, leastMs }, title)
    }
  },
)

t.test('offer: a settled label never changes', async (t) => {
  const base = { costMs: 100, clockMs: 50, arc: 7 }
  t.match(bestOf([base, { costMs: 1, clockMs: 1, arc: 1 }], 1), { ...base, parent: 0, queued: 1 })
})

t.test('offer: each slot of a node has its own label; arrays grow', async (t) => {
  const labels = createLabels(5000)
  const queue = new FlatQueue<number>()
  for (let node = 0; node < 5000; node++) {
    for (const slot of [0, 1]) offer(labels, queue, node, slot, node, 0, slot, node, -1)
  }
  t.equal(labels.count, 10_000)
  const last = labels.firstOf[4999]!
  t.same([labels.slot[last], labels.slot[labels.next[last]!]], [1, 0])
  t.equal(labels.next[labels.next[last]!], -1)
  t.same([labels.costMs[0], labels.place[1], labels.costMs[9999]], [0, 0, 4999])
})
