import type { Bbox } from '../../../geo/types.js'
import type { LoaderTable } from '../../tables.js'
import type { TableState } from '../citations/plan.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { indexSql } from '../tables/ddl.js'
import { NOWHERE, readPacked, UNBOUNDED_DAY } from '../tables/entries.js'

/** Where and when the rows of a table are; a little more than that where the index knows it only roughly. */
export interface FeatureExtent {
  readonly bbox: Bbox | undefined
  /** µs UTC; null for an end that is open; undefined where nothing is known of times */
  readonly interval: readonly [bigint | null, bigint | null] | undefined
}

const US_PER_DAY = 86_400_000_000n
/** Farther out than any coordinate: what lies there is the box of rows without a location. */
const FAR = NOWHERE / 2

/** From the boxes of a loader table's index: some 250 rows a box. */
export function extentOfTable(db: Db, table: LoaderTable): FeatureExtent {
  type Run = [id: number, west: number, east: number, south: number, north: number, from: number, to: number]
  const runs = statement<Run>(
    db,
    `SELECT run_id, min_lng, max_lng, min_lat, max_lat, start_day, end_day FROM ${indexSql(table)}`,
  ).raw()
  const box = emptyBox()
  let [from, to] = [Infinity, -Infinity]
  const mixed: number[] = []
  for (const [run, west, east, south, north, fromDay, toDay] of runs.iterate()) {
    from = Math.min(from, fromDay)
    to = Math.max(to, toDay)
    if (east < FAR) grow(box, west, south, east, north)
    else if (west < FAR) mixed.push(run)
  }
  const read = statement<Uint8Array>(db, `SELECT entries FROM ${indexSql(table)} WHERE run_id = ?`).pluck()
  for (const run of mixed) growByEntries(box, read.get(run))
  return {
    bbox: box[0] <= box[2] ? box : undefined,
    interval: from <= to ? [startOf(from), endOf(to)] : undefined,
  }
}

/** From the root of the R*Tree of a dataset's column, whose boxes hold every other: one page, whatever the size. */
export function extentOfState(db: Db, state: TableState, slot: number | undefined): FeatureExtent {
  const { table } = state
  if (table.loader !== undefined) return extentOfTable(db, table.loader)
  if (slot === undefined) return { bbox: undefined, interval: undefined }
  const box = emptyBox()
  const trees = state.tx === 'current' ? ['rtree'] : ['rtree', 'past']
  for (const tree of trees) {
    const node = identifier(`${table.tableName}_${tree}_${slot}_node`)
    growByRoot(box, statement<Uint8Array>(db, `SELECT data FROM ${node} WHERE nodeno = 1`).pluck().get())
  }
  return { bbox: box[0] <= box[2] ? box : undefined, interval: undefined }
}

/**
 * A node: depth and count of its cells (2 bytes each, big endian), then cells of an id (8 bytes) and four floats.
 *
 * @see https://sqlite.org/rtree.html#the_on_disk_format
 */
function growByRoot(box: Bbox, node: Uint8Array | undefined): void {
  if (node === undefined) return
  const view = new DataView(node.buffer, node.byteOffset, node.byteLength)
  const count = view.getUint16(2)
  for (let cell = 0; cell < count; cell++) {
    const at = 4 + cell * 24 + 8
    grow(box, view.getFloat32(at), view.getFloat32(at + 8), view.getFloat32(at + 4), view.getFloat32(at + 12))
  }
}

/** Rows with and without a location stand in one run: each is looked at. */
function growByEntries(box: Bbox, packed: Uint8Array | undefined): void {
  if (packed === undefined) return
  const { boxes, count } = readPacked(packed)
  const at = (part: number, row: number) => boxes[part * count + row] as number
  for (let row = 0; row < count; row++) {
    if (at(1, row) < FAR) grow(box, at(0, row), at(2, row), at(1, row), at(3, row))
  }
}

function emptyBox(): Bbox {
  return [Infinity, Infinity, -Infinity, -Infinity]
}

function grow(box: Bbox, west: number, south: number, east: number, north: number): void {
  box[0] = Math.min(box[0], west)
  box[1] = Math.min(box[1], south)
  box[2] = Math.max(box[2], east)
  box[3] = Math.max(box[3], north)
}

/** The index counts days in single precision: the bounds are told as whole days. */
function startOf(day: number): bigint | null {
  return day <= -UNBOUNDED_DAY ? null : BigInt(Math.floor(day)) * US_PER_DAY
}

function endOf(day: number): bigint | null {
  return day >= UNBOUNDED_DAY ? null : BigInt(Math.ceil(day)) * US_PER_DAY
}
