/** Segments that a sweep line crosses, in their order along it. */
export interface SweepStatus {
  /** segment → next one below or above; -1 for none */
  readonly below: Int32Array
  readonly above: Int32Array
  /**
   * Inserts a segment.
   *
   * @param compare place of the new segment relative to another one: below 0 under it, above 0 over it
   */
  insert(segment: number, compare: (other: number) => number): void
  remove(segment: number): void
  /** Returns how many segments of a group lie below a place. @param compare as for `insert` */
  countBelow(group: number, compare: (other: number) => number): number
}

const NONE = -1

/**
 * Creates an empty status: a treap, whose priorities are pseudo-random, with parent links, so that a segment
 * is removed without comparisons. Expected cost of each operation: the logarithm of the segments in it.
 *
 * @param groupOf segment → 0 or 1 to be counted with its group, or 2
 * @see C. R. Aragon, R. G. Seidel, "Randomized search trees", 1989
 */
export function createSweepStatus(groupOf: Uint8Array): SweepStatus {
  const size = groupOf.length
  const tree = {
    root: NONE,
    left: new Int32Array(size).fill(NONE),
    right: new Int32Array(size).fill(NONE),
    parent: new Int32Array(size).fill(NONE),
    priority: Uint32Array.from({ length: size }, (_, segment) => scramble(segment)),
    counts: new Int32Array(size * 2),
    groupOf,
  }
  const below = new Int32Array(size).fill(NONE)
  const above = new Int32Array(size).fill(NONE)
  return {
    below,
    above,
    insert(segment, compare) {
      let [under, over, at, isUnder] = [NONE, NONE, tree.root, false]
      while (at !== NONE) {
        tree.parent[segment] = at
        isUnder = compare(at) < 0
        if (isUnder) over = at
        else under = at
        at = (isUnder ? tree.left : tree.right)[at]!
      }
      if (tree.root === NONE) tree.root = segment
      else (isUnder ? tree.left : tree.right)[tree.parent[segment]!] = segment
      link(below, above, under, segment)
      link(below, above, segment, over)
      for (let node = segment; node !== NONE; node = tree.parent[node]!) recount(tree, node)
      while (tree.parent[segment] !== NONE && tree.priority[segment]! > tree.priority[tree.parent[segment]!]!)
        rotateUp(tree, segment)
    },
    remove(segment) {
      for (;;) {
        const [left, right] = [tree.left[segment]!, tree.right[segment]!]
        if (left === NONE && right === NONE) break
        const isLeft = right === NONE || (left !== NONE && tree.priority[left]! > tree.priority[right]!)
        rotateUp(tree, isLeft ? left : right)
      }
      const parent = tree.parent[segment]!
      replaceChild(tree, parent, segment, NONE)
      for (let node = parent; node !== NONE; node = tree.parent[node]!) recount(tree, node)
      tree.parent[segment] = NONE
      link(below, above, below[segment]!, above[segment]!)
    },
    countBelow(group, compare) {
      let count = 0
      for (let at = tree.root; at !== NONE; ) {
        const isUnder = compare(at) < 0
        if (!isUnder) count += countOf(tree, tree.left[at]!, group) + Number(groupOf[at] === group)
        at = (isUnder ? tree.left : tree.right)[at]!
      }
      return count
    },
  }
}

interface Tree {
  root: number
  readonly left: Int32Array
  readonly right: Int32Array
  readonly parent: Int32Array
  readonly priority: Uint32Array
  /** node · 2 + group → segments of the group in the subtree */
  readonly counts: Int32Array
  readonly groupOf: Uint8Array
}

/** Makes two segments neighbours. Either may be `NONE`. */
function link(below: Int32Array, above: Int32Array, under: number, over: number): void {
  if (under !== NONE) above[under] = over
  if (over !== NONE) below[over] = under
}

function countOf({ counts }: Tree, node: number, group: number): number {
  return node === NONE ? 0 : counts[node * 2 + group]!
}

function recount(tree: Tree, node: number): void {
  const [left, right] = [tree.left[node]!, tree.right[node]!]
  for (const group of [0, 1]) {
    const own = Number(tree.groupOf[node] === group)
    tree.counts[node * 2 + group] = countOf(tree, left, group) + countOf(tree, right, group) + own
  }
}

function replaceChild(tree: Tree, parent: number, child: number, by: number): void {
  if (parent === NONE) tree.root = by
  else if (tree.left[parent] === child) tree.left[parent] = by
  else tree.right[parent] = by
  if (by !== NONE) tree.parent[by] = parent
}

/** Exchanges a node with its parent, keeping the order. */
function rotateUp(tree: Tree, node: number): void {
  const { left, right, parent } = tree
  const old = parent[node]!
  replaceChild(tree, parent[old]!, old, node)
  const isLeft = left[old] === node
  const middle = isLeft ? right[node]! : left[node]!
  if (isLeft) {
    left[old] = middle
    right[node] = old
  } else {
    right[old] = middle
    left[node] = old
  }
  if (middle !== NONE) parent[middle] = old
  parent[old] = node
  recount(tree, old)
  recount(tree, node)
}

/** Spreads small integers over 32 bits (the finalizer of MurmurHash3). */
function scramble(value: number): number {
  let bits = Math.imul(value ^ 0x9e3779b9, 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
