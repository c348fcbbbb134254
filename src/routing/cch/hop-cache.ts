/**
 * Ways that long hops were found to stand for: few hops near the top of the tree are part of most cheapest ways.
 * Bounded, and emptied when it is full; what it holds changes no answer.
 */
export interface HopCache {
  /** slot → hop, `arc * 2`, plus 1 when it leads down; -1 = none */
  readonly hop: Int32Array
  /** slot → place of its way in `arcs`, and how many arcs it has */
  readonly first: Int32Array
  readonly count: Int32Array
  /** slot → arcs of the way that cost nothing */
  readonly zeroCount: Int32Array
  /** grows up to `maxArcs` */
  arcs: Int32Array
  size: number
  readonly maxArcs: number
}

/** A shorter way is unpacked as fast as it is looked up. */
const MIN_ARCS = 4
const MAX_SLOTS = 2 ** 13
const MAX_ARCS = 2 ** 18
/** Of the arcs of a hierarchy: a small map needs less. */
const SHARE = 1 / 4
const FIRST_ARCS = 2 ** 12

/** @param arcCount of the hierarchy */
export function createHopCache(arcCount: number): HopCache {
  const slots = Math.min(MAX_SLOTS, 2 ** Math.ceil(Math.log2(arcCount / 32 + 1)))
  const maxArcs = Math.min(MAX_ARCS, Math.ceil(arcCount * SHARE))
  return {
    hop: new Int32Array(slots).fill(-1),
    first: new Int32Array(slots),
    count: new Int32Array(slots),
    zeroCount: new Int32Array(slots),
    arcs: new Int32Array(Math.min(FIRST_ARCS, maxArcs)),
    size: 0,
    maxArcs,
  }
}

/** Bytes that it may come to. */
export function hopCacheBytes(arcCount: number): number {
  return Math.min(MAX_ARCS, arcCount * SHARE) * 4 + Math.min(MAX_SLOTS, arcCount / 16) * 16
}

/** The slot that holds a hop, -1 = none. */
export function findKnown({ hop }: HopCache, code: number): number {
  const slot = slotOf(code, hop.length)
  return hop[slot] === code ? slot : -1
}

/** Remembers the way of a hop: what `arcs` has from `from` on. */
export function remember(
  known: HopCache,
  code: number,
  arcs: readonly number[],
  from: number,
  zeroCount: number,
): void {
  const count = arcs.length - from
  if (count < MIN_ARCS || count > known.maxArcs) return
  if (known.size + count > known.maxArcs) {
    known.hop.fill(-1)
    known.size = 0
  }
  if (known.size + count > known.arcs.length) {
    const grown = new Int32Array(Math.min(known.maxArcs, Math.max(known.arcs.length * 2, known.size + count)))
    grown.set(known.arcs)
    known.arcs = grown
  }
  const slot = slotOf(code, known.hop.length)
  known.hop[slot] = code
  known.first[slot] = known.size
  known.count[slot] = count
  known.zeroCount[slot] = zeroCount
  for (let i = 0; i < count; i++) known.arcs[known.size + i] = arcs[from + i]!
  known.size += count
}

/** @param slots a power of two */
function slotOf(code: number, slots: number): number {
  const mixed = Math.imul(code, 0x9e3779b1)
  return (mixed ^ (mixed >>> 15)) & (slots - 1)
}
