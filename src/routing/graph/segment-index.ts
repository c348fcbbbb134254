import type { Graph } from './graph.js'
import { openSegmentTree, segmentLevels } from './index-trees.js'
import { isPaged, numberAt, type Paged } from './paged.js'

/** Children of some branch of the index over the segments: child `i` is entry `i - base` of the arrays. */
export interface SegmentChildren {
  /** minX, minY, maxX, maxY of each child, 1e-7 degree */
  boxes: Int32Array
  /** segment of a leaf; of a branch the place of its first child times 4 */
  indices: Uint16Array | Uint32Array
  base: number
}

/** Index over the segments' boxes, a flatbush: levels of branches over leaves, one leaf for each segment. */
export interface SegmentIndex {
  /** most children of a branch */
  readonly nodeSize: number
  /** level, leaves first → position of its end */
  readonly levelEnds: readonly number[]
  /**
   * Returns the children from `first` to before `last`, which lie on one level.
   *
   * @returns valid until the next call
   * @throws the errors of the file
   */
  childrenOf(level: number, first: number, last: number): SegmentChildren
}

/** Arrays of a graph that have the index. */
type Indexed = Pick<Graph, 'segmentIndex' | 'segmentCount'>

/** Words of the header of a flatbush, and of a box. */
const HEADER_WORDS = 2
const BOX_WORDS = 4

const indexes = new WeakMap<object, SegmentIndex>()

/** Returns the index over the segments' boxes; it is opened once a map. Of an index in the file, branches are kept. */
export function segmentIndex(graph: Indexed): SegmentIndex {
  let index = indexes.get(graph.segmentIndex)
  if (index === undefined) {
    index = isPaged(graph.segmentIndex)
      ? indexInFile(graph.segmentIndex, graph.segmentCount)
      : indexInMemory(graph)
    indexes.set(graph.segmentIndex, index)
  }
  return index
}

/**
 * Finds the segments whose boxes meet a box, in any order.
 *
 * @param isWanted called for each of them
 * @throws the errors of the file
 */
export function findSegments(
  index: SegmentIndex,
  [west, south, east, north]: readonly [west: number, south: number, east: number, north: number],
  isWanted: (segment: number) => boolean = () => true,
): number[] {
  const { nodeSize, levelEnds } = index
  const found: number[] = []
  const walk = (level: number, first: number): void => {
    const last = Math.min(first + nodeSize, levelEnds[level]!)
    const { boxes, indices, base } = index.childrenOf(level, first, last)
    for (let child = first; child < last; child++) {
      const at = (child - base) * BOX_WORDS
      if (east < boxes[at]! || north < boxes[at + 1]! || west > boxes[at + 2]! || south > boxes[at + 3]!)
        continue
      const next = indices[child - base]!
      if (level > 0) walk(level - 1, next >>> 2)
      else if (isWanted(next)) found.push(next)
    }
  }
  const top = levelEnds.length - 1
  walk(top, levelEnds[top]! - 1)
  return found
}

/** @throws Error for bytes of another format, which `checkGraph` refuses */
function indexInMemory(graph: Indexed): SegmentIndex {
  const tree = openSegmentTree(graph)
  if (tree === undefined) throw new Error('the map has no index of its segments')
  const { nodeSize, levelEnds, boxes, indices } = tree
  const all: SegmentChildren = { boxes, indices, base: 0 }
  return { nodeSize, levelEnds, childrenOf: () => all }
}

/** Opens an index whose format was checked when the map was opened, and whose indices have four bytes. */
function indexInFile(index: Paged, segmentCount: number): SegmentIndex {
  const nodeSize = numberAt(index, 0) >>> 16
  const levelEnds = segmentLevels(segmentCount, nodeSize)
  const total = levelEnds[levelEnds.length - 1]!
  const firstIndex = HEADER_WORDS + total * BOX_WORDS
  const read = (children: SegmentChildren, first: number, last: number) => {
    const { boxes, indices } = children
    for (let word = 0; word < (last - first) * BOX_WORDS; word++)
      boxes[word] = numberAt(index, HEADER_WORDS + first * BOX_WORDS + word)
    for (let child = first; child < last; child++)
      indices[child - first] = numberAt(index, firstIndex + child)
    children.base = first
    return children
  }
  const create = (count: number): SegmentChildren => ({
    boxes: new Int32Array(count * BOX_WORDS),
    indices: new Uint32Array(count),
    base: 0,
  })
  const branches = read(create(total - segmentCount), segmentCount, total)
  const leaves = create(nodeSize)
  return {
    nodeSize,
    levelEnds,
    childrenOf: (level, first, last) => (level > 0 ? branches : read(leaves, first, last)),
  }
}
