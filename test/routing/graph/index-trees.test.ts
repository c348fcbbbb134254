import Flatbush from 'flatbush'
import KDBush from 'kdbush'
import t from 'tap'
import type { Graph } from '../../../src/routing/graph/graph.js'
import { openJunctionTree, openSegmentTree } from '../../../src/routing/graph/index-trees.js'
import { nearestJunction } from '../../../src/routing/graph/nearest-junction.js'

/** A graph of which only the index of its segments is read. */
function withSegments(segmentCount: number, segmentIndex: Uint8Array): Graph {
  return { segmentCount, segmentIndex } as Graph // the function reads nothing else
}

/** A graph of which only the index of its junctions is read. */
function withJunctions(junctionCount: number, junctionIndex: Uint8Array): Graph {
  return { junctionCount, junctionIndex } as Graph // the function reads nothing else
}

function segmentIndex(count: number, nodeSize = 16): Uint8Array {
  const index = new Flatbush(count, nodeSize, Int32Array)
  for (let i = 0; i < count; i++) index.add(i, -i, i + 1, 5)
  index.finish()
  return new Uint8Array(index.data as ArrayBuffer)
}

function junctionIndex(count: number, nodeSize = 64): Uint8Array {
  const index = new KDBush(count, nodeSize, Int32Array)
  for (let i = 0; i < count; i++) index.add((i * 7919) % count, i)
  index.finish()
  return new Uint8Array(index.data as ArrayBuffer)
}

t.test('openSegmentTree: levels and boxes, indices of two or four bytes', async (t) => {
  const small = openSegmentTree(withSegments(300, segmentIndex(300)))!
  t.same([small.nodeSize, small.levelEnds], [16, [300, 319, 321, 322]])
  t.equal(small.indices.BYTES_PER_ELEMENT, 2)
  const first = small.indices[0]!
  t.same([...small.boxes.subarray(0, 4)], [first, -first, first + 1, 5])
  t.same([...small.boxes.subarray(321 * 4)], [0, -299, 300, 5], 'the root has the box around all')
  // 15,358 leaves have 1025 branches: together 16,383 nodes, the most of two bytes
  t.equal(openSegmentTree(withSegments(15_358, segmentIndex(15_358)))?.indices.BYTES_PER_ELEMENT, 2)
  const large = openSegmentTree(withSegments(15_359, segmentIndex(15_359)))!
  t.equal(large.indices.BYTES_PER_ELEMENT, 4)
  t.same([...new Set(large.indices.subarray(0, 15_359))].length, 15_359)
  t.same(openSegmentTree(withSegments(1, segmentIndex(1)))?.levelEnds, [1, 2])
})

t.test('openSegmentTree: undefined for bytes of another format, size or count', async (t) => {
  const bytes = segmentIndex(40)
  const open = (change: (bytes: Uint8Array) => Uint8Array | undefined, count = 40) => {
    const copy = bytes.slice()
    return openSegmentTree(withSegments(count, change(copy) ?? copy))
  }
  t.ok(open(() => undefined))
  t.equal(
    open(() => new Uint8Array(7)),
    undefined,
  )
  t.equal(
    open((copy) => copy.fill(0, 0, 1)),
    undefined,
    'another magic',
  )
  t.equal(
    open((copy) => copy.fill(0x38, 1, 2)),
    undefined,
    'another type',
  )
  t.equal(
    open((copy) => copy.fill(0, 2, 4)),
    undefined,
    'no node size',
  )
  t.equal(
    open((copy) => copy.fill(1, 2, 3)),
    undefined,
    'a node size that ends no tree',
  )
  t.equal(
    open(() => undefined, 41),
    undefined,
    'another count',
  )
  t.equal(
    open((copy) => copy.subarray(0, -1)),
    undefined,
    'cut short',
  )
  t.equal(
    open((copy) => copy.fill(2, 2, 3)),
    undefined,
    'another node size needs more bytes',
  )
})

t.test('openJunctionTree: ids of two or four bytes, every junction once', async (t) => {
  for (const [count, bytes] of [
    [65_535, 2],
    [65_536, 4],
    [65_537, 4],
  ] as const) {
    // biome-ignore format: pairs
    const tree = openJunctionTree(withJunctions(count, junctionIndex(count)))!
    t.same([tree.nodeSize, tree.ids.BYTES_PER_ELEMENT, tree.ids.length], [64, bytes, count])
    t.equal(new Set(tree.ids).size, count)
    const at = tree.ids.indexOf(count - 1)
    t.same([...tree.coords.subarray(at * 2, at * 2 + 2)], [((count - 1) * 7919) % count, count - 1])
  }
})

t.test('openJunctionTree: undefined for bytes of another format, size or count', async (t) => {
  const bytes = junctionIndex(40)
  const open = (change: (bytes: Uint8Array) => Uint8Array, count = 40) =>
    openJunctionTree(withJunctions(count, change(bytes.slice())))
  t.ok(open((copy) => copy))
  for (const [title, change] of [
    ['another magic', (copy: Uint8Array) => copy.fill(0xfb, 0, 1)],
    ['another version', (copy: Uint8Array) => copy.fill(0x25, 1, 2)],
    ['no node size', (copy: Uint8Array) => copy.fill(0, 2, 4)],
    ['another count in its header', (copy: Uint8Array) => copy.fill(39, 4, 5)],
    ['cut short', (copy: Uint8Array) => copy.subarray(0, -1)],
    ['empty', () => new Uint8Array(0)],
  ] as const)
    t.equal(open(change), undefined, title)
  t.equal(
    open((copy) => copy, 41),
    undefined,
    'another count',
  )
})

t.test('nearestJunction: refuses bytes of another format', async (t) => {
  t.throws(
    () => nearestJunction(withJunctions(3, new Uint8Array(8)), 0, 0),
    /junction index is not a kdbush 4 index/,
  )
})

t.test('nearestJunction: -1 for a graph without junctions', async (t) => {
  t.equal(nearestJunction(withJunctions(0, junctionIndex(0)), 0, 0), -1)
})
