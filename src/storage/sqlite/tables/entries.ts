import type { Bbox } from '../../../geo/types.js'

/**
 * Entries of the spatial index: boxes of rows in space and time, one element per row in each array. Boxes and
 * days are in single precision, rounded outward: a filter without misses, to be followed by an exact test.
 */
export interface Entries {
  count: number
  /** row ids; doubles, because they may exceed 2^32 */
  ids: Float64Array
  minLng: Float32Array
  maxLng: Float32Array
  minLat: Float32Array
  maxLat: Float32Array
  /** days since 1970 UTC, with fraction */
  startDay: Float32Array
  endDay: Float32Array
}

/** Coordinate of the box of rows without a location, which no area on Earth touches. */
export const NOWHERE = 1e9
/** Box that touches the boxes of all rows without a location, and no other. */
export const NOWHERE_BOX: Bbox = [NOWHERE / 2, NOWHERE / 2, NOWHERE * 2, NOWHERE * 2]
/** Day of a null end, and negated of a null start: about the year 29,000. */
export const UNBOUNDED_DAY = 1e7

const US_PER_DAY = 86_400_000_000
const BOX_ARRAYS = 6

/** Entries of most puts. */
const SMALL_ENTRIES = 256
/** Arrays that wait for the next put. Small puts are many, and V8 frees memory outside its heap late. */
let spare: Entries | undefined

/** Returns empty arrays for the entries of a put; `addEntry` enlarges them as needed. */
export function takeEntries(): Entries {
  const entries = spare ?? createEntries(SMALL_ENTRIES)
  spare = undefined
  entries.count = 0
  return entries
}

/** Gives arrays back that nobody uses any more. */
export function giveEntriesBack(entries: Entries): void {
  if (entries.ids.length === SMALL_ENTRIES) spare = entries
}

/** Creates arrays for a number of entries; `addEntry` enlarges them as needed. */
export function createEntries(capacity: number): Entries {
  return {
    count: 0,
    ids: new Float64Array(capacity),
    minLng: new Float32Array(capacity),
    maxLng: new Float32Array(capacity),
    minLat: new Float32Array(capacity),
    maxLat: new Float32Array(capacity),
    startDay: new Float32Array(capacity),
    endDay: new Float32Array(capacity),
  }
}

/**
 * Adds the entry of one row.
 *
 * @param box degrees; undefined without a location
 * @param startUs µs UTC; null for an open start
 */
export function addEntry(
  entries: Entries,
  rowId: number,
  box: Bbox | undefined,
  startUs: bigint | null,
  endUs: bigint | null,
): void {
  if (entries.count === entries.ids.length) grow(entries, entries.count * 2)
  const at = entries.count++
  const [west, south, east, north] = box ?? [NOWHERE, NOWHERE, NOWHERE, NOWHERE]
  entries.ids[at] = rowId
  entries.minLng[at] = roundDown(west)
  entries.maxLng[at] = roundUp(east)
  entries.minLat[at] = roundDown(south)
  entries.maxLat[at] = roundUp(north)
  entries.startDay[at] = startUs === null ? -UNBOUNDED_DAY : roundDown(dayOf(startUs))
  entries.endDay[at] = endUs === null ? UNBOUNDED_DAY : roundUp(dayOf(endUs))
}

/** True when two entries have the same box and days, whatever their rows. */
export function isSamePlace(a: Entries, atA: number, b: Entries, atB: number): boolean {
  return (
    a.minLng[atA] === b.minLng[atB] &&
    a.maxLng[atA] === b.maxLng[atB] &&
    a.minLat[atA] === b.minLat[atB] &&
    a.maxLat[atA] === b.maxLat[atB] &&
    a.startDay[atA] === b.startDay[atB] &&
    a.endDay[atA] === b.endDay[atB]
  )
}

/** Converts µs since 1970 UTC to days. */
export function dayOf(us: bigint): number {
  return Number(us) / US_PER_DAY
}

/** Memory that packing uses again for each run, instead of a short-lived buffer each. */
interface PackBuffer {
  readonly buffer: ArrayBuffer
}

/** Creates the memory to pack at most `maxCount` entries at a time. */
export function createPackBuffer(maxCount: number): PackBuffer {
  return { buffer: new ArrayBuffer(HEAD_BYTES + maxCount * ROW_BYTES) }
}

/**
 * Packs entries into bytes: format, count, row ids (doubles), then the six arrays (singles), in the byte
 * order of the machine. `readPacked` and `appendPacked` read them.
 *
 * @param pack reused by the next call: the result must have been copied by then
 * @param order positions of entries; those of `order[from]` to `order[to - 1]` are packed
 */
export function packEntries(
  pack: PackBuffer,
  entries: Entries,
  order: Uint32Array,
  { from, to }: { from: number; to: number },
): Uint8Array {
  const count = to - from
  const { head, ids, boxes, bytes } = viewsOf(pack.buffer, 0, count)
  head.set([FORMAT, count])
  const { ids: rowIds, minLng, maxLng, minLat, maxLat, startDay, endDay } = entries
  for (let at = 0; at < count; at++) {
    const source = order[from + at]!
    ids[at] = rowIds[source]!
    boxes[at] = minLng[source]!
    boxes[at + count] = maxLng[source]!
    boxes[at + count * 2] = minLat[source]!
    boxes[at + count * 3] = maxLat[source]!
    boxes[at + count * 4] = startDay[source]!
    boxes[at + count * 5] = endDay[source]!
  }
  return bytes
}

/**
 * Adds the entries of packed bytes.
 *
 * @throws Error when the bytes are not those of `packEntries`
 */
export function appendPacked(entries: Entries, packed: Uint8Array): void {
  const { ids, boxes, count } = readPacked(packed)
  const at = entries.count
  // doubled at least, so that many small runs cost O(1) an entry
  if (at + count > entries.ids.length) grow(entries, Math.max(at + count, at * 2))
  entries.ids.set(ids, at)
  const arrays = [
    entries.minLng,
    entries.maxLng,
    entries.minLat,
    entries.maxLat,
    entries.startDay,
    entries.endDay,
  ]
  for (const [index, array] of arrays.entries()) {
    array.set(boxes.subarray(index * count, (index + 1) * count), at)
  }
  entries.count += count
}

/**
 * Returns views of packed bytes: row ids, and the six arrays one after the other as `packEntries` orders
 * them.
 *
 * @throws Error when the bytes are not those of `packEntries`
 */
export function readPacked(packed: Uint8Array): { ids: Float64Array; boxes: Float32Array; count: number } {
  const count = Math.floor((packed.length - HEAD_BYTES) / ROW_BYTES)
  const size = HEAD_BYTES + count * ROW_BYTES
  if (count < 0 || packed.length !== size)
    throw new Error(`a run of the spatial index is damaged: found ${packed.length} bytes`)
  const aligned = packed.byteOffset % 8 === 0 ? packed : new Uint8Array(packed) // a copy begins at 0
  const { head, ids, boxes } = viewsOf(aligned.buffer, aligned.byteOffset, count)
  if (head[0] !== FORMAT || head[1] !== count)
    throw new Error(
      `a run of the spatial index is damaged: found the head ${head.join()}, expected ${FORMAT},${count}`,
    )
  return { ids, boxes, count }
}

const HEAD_BYTES = 8
const ROW_BYTES = 8 + 4 * BOX_ARRAYS

/** Views of packed bytes; `boxes` has the six arrays one after the other. */
interface PackedViews {
  readonly head: Uint32Array
  readonly ids: Float64Array
  readonly boxes: Float32Array
  readonly bytes: Uint8Array
}

/** @param offset multiple of 8 */
function viewsOf(buffer: ArrayBufferLike, offset: number, count: number): PackedViews {
  return {
    head: new Uint32Array(buffer, offset, 2),
    ids: new Float64Array(buffer, offset + HEAD_BYTES, count),
    boxes: new Float32Array(buffer, offset + HEAD_BYTES + count * 8, count * BOX_ARRAYS),
    bytes: new Uint8Array(buffer, offset, HEAD_BYTES + count * ROW_BYTES),
  }
}

/** 'FGR1' */
const FORMAT = 0x31524746

/** Replaces all arrays by larger ones. O(entries), so callers at least double the capacity. */
function grow(entries: Entries, capacity: number): void {
  const ids = new Float64Array(capacity)
  ids.set(entries.ids)
  entries.ids = ids
  for (const name of ['minLng', 'maxLng', 'minLat', 'maxLat', 'startDay', 'endDay'] as const) {
    const larger = new Float32Array(capacity)
    larger.set(entries[name])
    entries[name] = larger
  }
}

/** Factors that step to the next single toward and away from zero at least, as SQLite's R*Tree uses them. */
const TOWARD_ZERO = 1 - 2 ** -23
const FROM_ZERO = 1 + 2 ** -23
/** Smallest single above zero: near zero a factor changes nothing. */
const LEAST = 2 ** -149

/** Returns a single close to a value and not above it. */
export function roundDown(value: number): number {
  const single = Math.fround(value)
  if (single <= value) return single
  const lower = Math.fround(value * (value < 0 ? FROM_ZERO : TOWARD_ZERO))
  return lower <= value ? lower : lower - LEAST
}

/** Returns a single close to a value and not below it. */
export function roundUp(value: number): number {
  const single = Math.fround(value)
  if (single >= value) return single
  const upper = Math.fround(value * (value < 0 ? TOWARD_ZERO : FROM_ZERO))
  return upper >= value ? upper : upper + LEAST
}
