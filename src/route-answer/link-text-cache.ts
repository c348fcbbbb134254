import type { Graph } from '../routing/graph/graph.js'

/**
 * Cache of the texts of whole links: most routes share their main roads, and the parts of a text are spread
 * over a dozen arrays of the map. The texts are in a ring of bytes: the oldest are overwritten.
 */
export interface LinkTextCache {
  /** slot → link, -1 = none */
  readonly link: Int32Array
  /**
   * slot → begin of the text, counted in bytes ever written; valid while less than `bytes.length` bytes
   * follow it
   */
  readonly begin: Float64Array
  readonly size: Uint16Array
  /** slot → offset of the level of risk in the text, one digit, which each answer sets */
  readonly riskAt: Uint16Array
  readonly bytes: Uint8Array
  /** bytes ever written */
  written: number
}

const MAX_SLOTS = 2 ** 13
/** Average length of a text. */
const BYTES_PER_SLOT = 320
/** Longest text that is cached. */
const MAX_BYTES = 4096
/** Links for each slot: the cache of a small map is smaller. */
const LINKS_PER_SLOT = 4

/** Returns the cache of a graph, at most 2.9 MB, created at the first use. */
export function linkTextCacheOf(graph: Graph): LinkTextCache {
  let cache = caches.get(graph)
  if (cache === undefined) {
    const wanted = 2 ** Math.ceil(Math.log2((graph.segmentCount * 2) / LINKS_PER_SLOT + 64))
    const slots = Math.min(MAX_SLOTS, wanted)
    cache = {
      link: new Int32Array(slots).fill(-1),
      begin: new Float64Array(slots),
      size: new Uint16Array(slots),
      riskAt: new Uint16Array(slots),
      bytes: new Uint8Array(slots * BYTES_PER_SLOT),
      written: 0,
    }
    caches.set(graph, cache)
  }
  return cache
}

const caches = new WeakMap<Graph, LinkTextCache>()

/** Finds the text of a link. @returns its slot, -1 when it is not cached */
export function findLinkText({ link, begin, bytes, written }: LinkTextCache, wanted: number): number {
  const slot = slotOf(wanted, link.length)
  return link[slot] === wanted && begin[slot]! >= written - bytes.length ? slot : -1
}

/**
 * Caches the text of a link.
 *
 * @param text copied
 * @param riskAt offset of the level of risk in it
 */
export function cacheLinkText(cache: LinkTextCache, link: number, text: Uint8Array, riskAt: number): void {
  const { bytes } = cache
  const size = text.length
  if (size > MAX_BYTES || size > bytes.length) return
  const offset = cache.written % bytes.length
  // a text is never divided: it begins at the start of the ring when the rest is too short
  const begin = offset + size > bytes.length ? cache.written + bytes.length - offset : cache.written
  bytes.set(text, begin % bytes.length)
  cache.written = begin + size
  const slot = slotOf(link, cache.link.length)
  cache.link[slot] = link
  cache.begin[slot] = begin
  cache.size[slot] = size
  cache.riskAt[slot] = riskAt
}

/** @param slots a power of two */
function slotOf(link: number, slots: number): number {
  const mixed = Math.imul(link, 0x9e3779b1)
  return (mixed ^ (mixed >>> 15)) & (slots - 1)
}
