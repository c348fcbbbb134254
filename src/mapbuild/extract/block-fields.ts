import type { PbfReader } from 'pbf'
import { type Growing, push } from '../arrays/growing.js'
import { badExtract } from './blobs.js'
import type { BlockVisitor, Tags } from './osm-objects.js'
import type { StringTable } from './string-table.js'

const INFO_TIMESTAMP = 2
/** Wire type of messages, strings and packed lists; all OSM writers pack their lists. */
const LENGTH_DELIMITED = 2

/** State of reading one block, and working memory that later blocks reuse. */
export interface Reading {
  pbf: PbfReader
  table: StringTable
  /** nanodegrees of one unit of the coordinates */
  granularity: number
  /** nanodegrees */
  latOffset: number
  lngOffset: number
  dateGranularityMs: number
  /** byte of the blob in the file, for errors */
  offset: number
  /** kinds of objects seen, bits of `HOLDS` */
  holds: number
  readonly visitor: BlockVisitor
  readonly ids: Growing<Float64Array>
  readonly lats: Growing<Float64Array>
  readonly lngs: Growing<Float64Array>
  readonly keys: Growing<Uint32Array>
  readonly values: Growing<Uint32Array>
}

/** Enters a length-delimited value. @returns its end, at most `limit` */
export function enter({ pbf, offset }: Reading, limit: number): number {
  if (pbf.type !== LENGTH_DELIMITED)
    throw badExtract(offset, `found wire type ${pbf.type}, expected a message`)
  const end = pbf.readVarint() + pbf.pos
  if (end > limit) throw badExtract(offset, `a field ends ${end - limit} bytes behind what holds it`)
  return end
}

/** Leaves a message; its fields must end exactly where it ends. */
export function leave({ pbf, offset }: Reading, end: number): void {
  if (pbf.pos !== end) throw badExtract(offset, 'the block is damaged: a field ends behind its message')
}

/**
 * Reads the tags of an object from `keys` and `values`.
 *
 * @param wanted only objects with one of these keys get tags; empty = all
 * @returns undefined when the object has none of the wanted keys
 */
export function readTags(
  { keys, values, table, offset }: Reading,
  wanted: readonly string[],
): Tags | undefined {
  if (keys.length !== values.length) {
    throw badExtract(
      offset,
      `found ${keys.length} keys with ${values.length} values, expected a value for each`,
    )
  }
  let isWanted = wanted.length === 0
  for (let i = 0; i < keys.length && !isWanted; i++) isWanted = table.isWanted(keys.array[i]!, wanted)
  if (!isWanted) return undefined
  const tags = new Map<string, string>()
  for (let i = 0; i < keys.length; i++) {
    tags.set(textOf(table, keys.array[i]!, offset), textOf(table, values.array[i]!, offset))
  }
  return tags
}

/** Returns a string of the block's table. @throws AppError BAD_EXTRACT when the table has no such index */
export function textOf(table: StringTable, index: number, offset: number): string {
  const text = table.text(index)
  if (text === undefined) throw badExtract(offset, `string ${index} is used, the table has ${table.count}`)
  return text
}

/** Reads packed sint64 differences, and appends the values. */
export function readDeltas(reading: Reading, into: Growing<Float64Array>, limit: number): void {
  const { pbf } = reading
  const end = enter(reading, limit)
  let value = into.length === 0 ? 0 : into.array[into.length - 1]!
  while (pbf.pos < end) {
    value += pbf.readSVarint()
    push(into, value)
  }
  leave(reading, end)
}

/** Reads packed unsigned numbers, and appends them. */
export function readNumbers(reading: Reading, into: Growing<Uint32Array>, limit: number): void {
  const { pbf } = reading
  const end = enter(reading, limit)
  while (pbf.pos < end) push(into, pbf.readVarint())
  leave(reading, end)
}

/** Reads the metadata of an object, for its time. */
export function readInfo(reading: Reading, end: number): void {
  const { pbf, visitor, dateGranularityMs } = reading
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    if (field === INFO_TIMESTAMP) visitor.timestamp?.((pbf.readVarint(true) * dateGranularityMs) / 1000)
  }
  leave(reading, end)
}

/** Reads the metadata of dense nodes, for the newest time. */
export function readDenseInfo(reading: Reading, end: number): void {
  const { pbf, visitor, dateGranularityMs } = reading
  let value = 0
  let newest = 0
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    if (field !== INFO_TIMESTAMP) continue
    const last = enter(reading, end)
    while (pbf.pos < last) {
      value += pbf.readSVarint()
      if (value > newest) newest = value
    }
    leave(reading, last)
  }
  leave(reading, end)
  visitor.timestamp?.((newest * dateGranularityMs) / 1000)
}
