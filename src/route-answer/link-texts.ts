import type { Graph } from '../routing/graph/graph.js'

/**
 * Texts of links that were driven whole, as answers have them: most routes share their main roads, and what a text is
 * made of lies in a dozen places of the memory. A ring of bytes: the oldest texts are written over.
 */
export interface LinkTexts {
  /** slot → link, -1 = none */
  readonly link: Int32Array
  /** slot → bytes that were written before the text began; those of the last `bytes.length` are there */
  readonly begin: Float64Array
  readonly size: Uint16Array
  /** slot → place of the level of risk in the text, one digit, which is not the link's own */
  readonly riskAt: Uint16Array
  readonly bytes: Uint8Array
  /** bytes that were written in all */
  written: number
}

const MAX_SLOTS = 2 ** 13
/** A text as it is on the average. */
const BYTES_PER_SLOT = 320
/** A longer one is not kept. */
const MAX_BYTES = 4096
/** Links for each slot, so that a small map takes less. */
const LINKS_PER_SLOT = 4

/** 2.9 MB at most, taken as they fill. */
export function linkTextsOf(graph: Graph): LinkTexts {
  let texts = kept.get(graph)
  if (texts === undefined) {
    const wanted = 2 ** Math.ceil(Math.log2((graph.segmentCount * 2) / LINKS_PER_SLOT + 64))
    const slots = Math.min(MAX_SLOTS, wanted)
    texts = {
      link: new Int32Array(slots).fill(-1),
      begin: new Float64Array(slots),
      size: new Uint16Array(slots),
      riskAt: new Uint16Array(slots),
      bytes: new Uint8Array(slots * BYTES_PER_SLOT),
      written: 0,
    }
    kept.set(graph, texts)
  }
  return texts
}

const kept = new WeakMap<Graph, LinkTexts>()

/** The slot that holds the text of a link, -1 = none. */
export function findLinkText({ link, begin, bytes, written }: LinkTexts, wanted: number): number {
  const slot = slotOf(wanted, link.length)
  return link[slot] === wanted && begin[slot]! >= written - bytes.length ? slot : -1
}

/** Keeps a text: `from` up to `end` of some bytes. */
export function keepLinkText(
  texts: LinkTexts,
  link: number,
  source: Uint8Array,
  from: number,
  end: number,
  riskAt: number,
): void {
  const { bytes } = texts
  const size = end - from
  if (size > MAX_BYTES || size > bytes.length) return
  const place = texts.written % bytes.length
  // a text is never in two parts: the end of the ring stays unused then
  const begin = place + size > bytes.length ? texts.written + bytes.length - place : texts.written
  bytes.set(source.subarray(from, end), begin % bytes.length)
  texts.written = begin + size
  const slot = slotOf(link, texts.link.length)
  texts.link[slot] = link
  texts.begin[slot] = begin
  texts.size[slot] = size
  texts.riskAt[slot] = riskAt - from
}

/** @param slots a power of two */
function slotOf(link: number, slots: number): number {
  const mixed = Math.imul(link, 0x9e3779b1)
  return (mixed ^ (mixed >>> 15)) & (slots - 1)
}
