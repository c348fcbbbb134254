import type { Bbox } from '../../../geo/types.js'

/**
 * Places of rows in space and time, one element per row in each array; what the spatial index is made of. Boxes and days
 * are single precision, rounded outward: a filter that never misses, to be followed by an exact test.
 */
export interface Entries {
  count: number
  /** row ids; doubles, because they may pass 2^32 */
  ids: Float64Array
  minLng: Float32Array
  maxLng: Float32Array
  minLat: Float32Array
  maxLat: Float32Array
  /** days since 1970 UTC, with fraction */
  startDay: Float32Array
  endDay: Float32Array
}

/** Box of rows without a location: far from every place on Earth, so no area touches it. */
export const NOWHERE = 1e9
/** Touches the box of every row without a location, and of no other. */
export const NOWHERE_BOX: Bbox = [NOWHERE / 2, NOWHERE / 2, NOWHERE * 2, NOWHERE * 2]
/** Day of a null start (negative) or end: the row is valid since ever, or for ever. About the year 29,000. */
export const UNBOUNDED_DAY = 1e7

const US_PER_DAY = 86_400_000_000
const BOX_ARRAYS = 6

export function createEntries(capacity = 256): Entries {
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

/** Adds the place of one row. @param box undefined without a location */
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

/** Same place, whatever the row. */
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

/** Days since 1970 of an instant. */
export function dayOf(us: bigint): number {
  return Number(us) / US_PER_DAY
}

/**
 * Copies entries in a given order into bytes: count, then each array. Read back by `appendPacked`.
 *
 * @returns a view of a buffer that the next call uses again: whoever keeps it copies it, as SQLite does
 */
export function packEntries(entries: Entries, order: Uint32Array, from: number, to: number): Uint8Array {
  const count = to - from
  const { head, ids, boxes, bytes } = viewsOf(count)
  head.set([FORMAT, count])
  const { ids: rowIds, minLng, maxLng, minLat, maxLat, startDay, endDay } = entries
  for (let at = 0; at < count; at++) {
    const source = order[from + at] as number
    ids[at] = rowIds[source] as number
    boxes[at] = minLng[source] as number
    boxes[at + count] = maxLng[source] as number
    boxes[at + count * 2] = minLat[source] as number
    boxes[at + count * 3] = maxLat[source] as number
    boxes[at + count * 4] = startDay[source] as number
    boxes[at + count * 5] = endDay[source] as number
  }
  return bytes
}

/**
 * Adds the entries of packed bytes.
 *
 * @throws Error when they are not what `packEntries` writes
 */
export function appendPacked(entries: Entries, packed: Uint8Array): void {
  const { ids, boxes, count } = readPacked(packed)
  const at = entries.count
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

/** Row ids and the six arrays, one after the other, of packed bytes: views that the next call overwrites. */
export function readPacked(packed: Uint8Array): { ids: Float64Array; boxes: Float32Array; count: number } {
  const count = Math.floor((packed.length - HEAD_BYTES) / ROW_BYTES)
  const { head, ids, boxes, bytes } = viewsOf(Math.max(0, count))
  if (packed.length !== bytes.length)
    throw new Error(`a run of the spatial index is damaged: it has ${packed.length} bytes`)
  bytes.set(packed) // aligned by it, which what SQLite hands out is not
  if (head[0] !== FORMAT || head[1] !== count)
    throw new Error(`a run of the spatial index is damaged: it begins with ${head.join()}`)
  return { ids, boxes, count }
}

const HEAD_BYTES = 8
const ROW_BYTES = 8 + 4 * BOX_ARRAYS

/** Used by every packing and unpacking of the thread: a buffer for each would be garbage at once, outside V8's sight. */
let scratch = new ArrayBuffer(0)

function viewsOf(count: number) {
  const size = HEAD_BYTES + count * ROW_BYTES
  if (size > scratch.byteLength) scratch = new ArrayBuffer(size)
  return {
    head: new Uint32Array(scratch, 0, 2),
    ids: new Float64Array(scratch, HEAD_BYTES, count),
    boxes: new Float32Array(scratch, HEAD_BYTES + count * 8, count * BOX_ARRAYS),
    bytes: new Uint8Array(scratch, 0, size),
  }
}

/** 'FGR1' */
const FORMAT = 0x31524746

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

/** Steps toward and away from zero that are just enough after rounding to nearest, as SQLite's R*Tree does it. */
const TOWARD_ZERO = 1 - 2 ** -23
const FROM_ZERO = 1 + 2 ** -23
/** The least single: next to zero a factor changes nothing. */
const LEAST = 2 ** -149

/** A single close to a value that is not above it. */
export function roundDown(value: number): number {
  const single = Math.fround(value)
  if (single <= value) return single
  const lower = Math.fround(value * (value < 0 ? FROM_ZERO : TOWARD_ZERO))
  return lower <= value ? lower : lower - LEAST
}

/** A single close to a value that is not below it. */
export function roundUp(value: number): number {
  const single = Math.fround(value)
  if (single >= value) return single
  const upper = Math.fround(value * (value < 0 ? TOWARD_ZERO : FROM_ZERO))
  return upper >= value ? upper : upper + LEAST
}
