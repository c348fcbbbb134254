/**
 * Cache of unpacked hops: a few hops near the root of the tree are part of most cheapest paths. Bounded, and
 * emptied when it is full. It holds the arcs that unpacking would find, so it changes no answer.
 */
export interface HopCache {
  /** slot → code of a hop: `arc * 2`, + 1 when it leads down; -1 = empty */
  readonly hop: Int32Array
  /** slot → position of the hop's path in `arcs`, and number of its arcs */
  readonly first: Int32Array
  readonly count: Int32Array
  /** slot → number of arcs of cost 0 */
  readonly zeroCount: Int32Array
  /** arcs of the graph, in the order of travel; grows up to `maxArcs` */
  arcs: Int32Array
  /** used length of `arcs` */
  size: number
  readonly maxArcs: number
}

/** Shortest path that is cached: a shorter one is unpacked as fast as it is found here. */
const MIN_ARCS = 4
const MAX_SLOTS = 2 ** 13
const MAX_ARCS = 2 ** 18
/** Largest share of the hierarchy's arcs: the cache of a small map is smaller. */
const SHARE = 1 / 4
const FIRST_ARCS = 2 ** 12

/** Creates an empty cache. @param arcCount of the hierarchy */
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

/** Returns the bytes of a full cache. @param arcCount of the hierarchy */
export function hopCacheBytes(arcCount: number): number {
  return Math.min(MAX_ARCS, arcCount * SHARE) * 4 + Math.min(MAX_SLOTS, arcCount / 16) * 16
}

/** Finds a hop by its code. @returns its slot, -1 when it is not cached */
export function findCachedHop({ hop }: HopCache, code: number): number {
  const slot = slotOf(code, hop.length)
  return hop[slot] === code ? slot : -1
}

/** Caches the path of a hop: the arcs from position `from` on. */
export function cacheHop(
  cache: HopCache,
  code: number,
  arcs: readonly number[],
  from: number,
  zeroCount: number,
): void {
  const count = arcs.length - from
  if (count < MIN_ARCS || count > cache.maxArcs) return
  // emptied as a whole: hops that are used often come back at once, and no order of use need be kept
  if (cache.size + count > cache.maxArcs) {
    cache.hop.fill(-1)
    cache.size = 0
  }
  if (cache.size + count > cache.arcs.length) {
    const grown = new Int32Array(Math.min(cache.maxArcs, Math.max(cache.arcs.length * 2, cache.size + count)))
    grown.set(cache.arcs)
    cache.arcs = grown
  }
  // a hop of the same slot is replaced; its arcs stay in `arcs`, unused, until the cache is emptied
  const slot = slotOf(code, cache.hop.length)
  cache.hop[slot] = code
  cache.first[slot] = cache.size
  cache.count[slot] = count
  cache.zeroCount[slot] = zeroCount
  for (let i = 0; i < count; i++) cache.arcs[cache.size + i] = arcs[from + i]!
  cache.size += count
}

/** Hashes a code. @param slots a power of two */
function slotOf(code: number, slots: number): number {
  // multiplicative hashing by a prime near 2^32 / golden ratio; the high bits are folded into the low ones
  const mixed = Math.imul(code, 0x9e3779b1)
  return (mixed ^ (mixed >>> 15)) & (slots - 1)
}
