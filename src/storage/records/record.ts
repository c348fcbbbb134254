import { bboxOf } from '../../geo/bbox.js'
import { faultText, isFault as isGeometryFault } from '../../geo/fault.js'
import { parseGeometry } from '../../geo/parse-geometry.js'
import type { Bbox, Geometry } from '../../geo/types.js'
import { encodeWkb } from '../../geo/wkb.js'
import { candidates } from '../../messages/candidates.js'
import { describeFound } from '../../messages/fault-text.js'
import { isFault, type Stored } from '../columns/column-type.js'
import { typeOf } from '../columns/column-types.js'
import { type Column, isPathProperty } from '../tables.js'
import { type FilePart, fillFileColumns } from './record-files.js'
import { cryptoContext, END, LOCATION, type RecordFault, type RecordPlan, START } from './record-plan.js'

/** A record that fits its table. */
export interface CheckedRow {
  /** one per column, in column order; the digest of a file is set before the row is stored */
  readonly values: Stored[]
  readonly box: Bbox | undefined
  readonly startUs: bigint | null
  readonly endUs: bigint | null
  /** files whose digests are missing in `values` */
  readonly files: readonly FilePart[]
}

/**
 * Checks a GeoJSON Feature against the table. Members other than `type`, `geometry` and `properties` are
 * ignored, as RFC 7946 allows; properties that are not columns are refused.
 */
export function readRecord(plan: RecordPlan, json: unknown): CheckedRow | RecordFault {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return { column: null, reason: `found ${describeFound(json)}, expected a GeoJSON Feature` }
  const { type, geometry = null, properties = null } = json as Record<string, unknown>
  if (type !== 'Feature')
    return { column: null, reason: `type: found ${describeFound(type)}, expected "Feature"` }
  const place = readLocation(geometry)
  if ('reason' in place) return place
  const values: (Stored | undefined)[] = new Array(plan.defaults.length)
  values[LOCATION] = place.wkb
  const relativePaths = new Map<string, unknown>()
  const fault = readProperties(plan, properties, values, relativePaths)
  if (fault !== undefined) return fault
  const files = plan.fileSlots.length === 0 ? NO_FILES : fillFileColumns(plan, values, relativePaths)
  if ('reason' in files) return files
  const misfit = fillDefaults(plan, values) ?? checkOrder(values)
  if (misfit !== undefined) return misfit
  const [startUs, endUs] = values as [bigint | null, bigint | null]
  return { values: values as Stored[], box: place.box, startUs, endUs, files }
}

const NO_FILES: readonly FilePart[] = []

/** Reads the geometry of the Feature: GeoJSON in WGS 84 only, unlike geometry columns. */
function readLocation(json: unknown): { wkb: Uint8Array | null; box: Bbox | undefined } | RecordFault {
  if (json === null) return { wkb: null, box: undefined }
  const geometry = parseGeometry(json, 'geometry')
  if (isGeometryFault(geometry)) return { column: 'location', reason: faultText(geometry) }
  // allocated from the pool: a separate buffer per row would be most of the memory of a load
  return { wkb: encodeWkb(geometry, Buffer.allocUnsafe), box: boxOf(geometry) }
}

/** Returns the box of a geometry. Most are points, which need no loop. */
function boxOf(geometry: Geometry): Bbox | undefined {
  if (geometry.type !== 'Point') return bboxOf(geometry)
  const [lng, lat] = geometry.coordinates
  return lng === undefined ? undefined : [lng, lat, lng, lat] // an empty point has no position
}

/**
 * Sets the value of each property's column. The loop is over the record's keys, so that it finds properties
 * that are not columns, and `__proto__` is an ordinary key.
 */
function readProperties(
  plan: RecordPlan,
  properties: unknown,
  values: (Stored | undefined)[],
  relativePaths: Map<string, unknown>,
): RecordFault | undefined {
  if (properties === null) return undefined
  if (typeof properties !== 'object' || Array.isArray(properties))
    return { column: null, reason: `properties: found ${describeFound(properties)}, expected an object` }
  for (const name in properties) {
    const json = (properties as Record<string, unknown>)[name]
    const slot = plan.slotOf.get(name)
    if (slot !== undefined) {
      const column = plan.table.columns[slot] as Column
      const value = json === null ? null : readValue(plan, column, json)
      if (isFault(value)) return { column: name, reason: `found ${value.found}, expected ${value.expected}` }
      values[slot] = value
    } else if (isPathProperty(plan.table, name)) relativePaths.set(name, json)
    else return unknownProperty(plan, name)
  }
  return undefined
}

/** Reads and encrypts a value: plain text never reaches the database or its log. */
function readValue(plan: RecordPlan, column: Column, json: unknown) {
  const value = typeOf(column.udtName).read(json, column, plan.env)
  if (!column.isEncrypted || typeof value !== 'string') return value
  return plan.env.keyring.encrypt(value, cryptoContext(plan.table, column))
}

/** Checks that the row does not end before it starts; null is unbounded. */
function checkOrder(values: readonly (Stored | undefined)[]): RecordFault | undefined {
  const start = values[START]
  const end = values[END]
  if (typeof start !== 'bigint' || typeof end !== 'bigint' || start <= end) return undefined
  return { column: 'end_datetime', reason: 'found an end before start_datetime, expected start ≤ end' }
}

/**
 * Sets defaults of missing values. In a column that cannot be null, null stands for the default as well: the
 * records of `init_record` have null in every column that was not filled in.
 */
function fillDefaults(plan: RecordPlan, values: (Stored | undefined)[]): RecordFault | undefined {
  const { columns } = plan.table
  for (let slot = 0; slot < values.length; slot++) {
    const value = values[slot]
    if (value !== undefined && (value !== null || columns[slot]?.isNullable !== false)) continue
    const byDefault = plan.defaults[slot]
    if (byDefault === undefined) {
      const found = value === null ? 'null' : 'nothing'
      return { column: (columns[slot] as Column).name, reason: `found ${found}, expected a value` }
    }
    values[slot] = byDefault
  }
  return undefined
}

/**
 * A property that is not a column is a fault, so that a misspelled column does not lose its values silently.
 */
function unknownProperty(plan: RecordPlan, name: string): RecordFault {
  const shown = describeFound(name)
  if (name === 'location')
    return { column: name, reason: `found the property ${shown}, expected it as the Feature's geometry` }
  const known = candidates(plan.slotOf.keys(), name)
  return {
    column: name.slice(0, 100),
    reason: `found the unknown property ${shown}, expected any of ${known}`,
  }
}
