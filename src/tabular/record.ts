import { isFault } from '../geo/fault.js'
import { decodeHexWkb } from '../geo/wkb.js'
import { decodeWkt } from '../geo/wkt.js'
import { numberOf, textOf } from './columns.js'
import type { ImportPlan, PlaceColumns, PlanColumn } from './plan.js'
import type { FileRow } from './row-file.js'
import { timeValue } from './times.js'

/** Record of a table as its API takes it. */
export interface FileRecord {
  readonly type: 'Feature'
  readonly geometry: unknown
  readonly properties: Record<string, unknown>
}

/** Makes a record of a row. A value that does not fit is left as it is: the gateway refuses it with a reason. */
export function recordOf(
  { columns, start, end, place }: ImportPlan,
  { values, geometry }: FileRow,
): FileRecord {
  const properties: Record<string, unknown> = {}
  if (start !== undefined) properties.start_datetime = timeValue(values[start.source], start.form)
  if (end !== undefined) properties.end_datetime = timeValue(values[end.source], end.form)
  for (const column of columns) {
    const value = typedValue(column, values[column.source])
    if (column.name === '__proto__')
      Object.defineProperty(properties, column.name, { value, enumerable: true })
    else properties[column.name] = value
  }
  return { type: 'Feature', geometry: geometryOf(place, values, geometry), properties }
}

function typedValue({ kind, hasComma, timeForm }: PlanColumn, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (kind === 'text') return textOf(value)
  if (typeof value !== 'string') return value
  const text = value.trim()
  if (text === '') return null
  if (kind === 'bool') return /^true$/i.test(text) || (/^false$/i.test(text) ? false : value)
  if (kind === 'date' || kind === 'timestamptz') return timeValue(text, timeForm ?? 'iso')
  const number = hasComma || !text.includes(',') ? numberOf(text) : Number.NaN
  if (!Number.isFinite(number)) return value
  // a whole number that a double cannot hold goes as text
  return kind === 'int8' && !Number.isSafeInteger(number) ? text : number
}

function geometryOf(
  place: PlaceColumns | undefined,
  values: Readonly<Record<string, unknown>>,
  own: unknown,
): unknown {
  if (place === undefined) return null
  if (place.kind === 'own') return own ?? null
  if (place.kind === 'text') return geometryOfText(values[place.source])
  const [lng, lat] = [values[place.lng], values[place.lat]]
  if (isEmpty(lng) && isEmpty(lat)) return null
  return { type: 'Point', coordinates: [degrees(lng), degrees(lat)] }
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === ''
}

function degrees(value: unknown): unknown {
  const number = isEmpty(value) ? Number.NaN : numberOf(value)
  return Number.isNaN(number) ? value : number
}

/** Geometry of WKT, hex WKB or GeoJSON; the text itself when it is none of them. */
export function geometryOfText(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? null
  const text = value.trim()
  if (text === '') return null
  if (text.startsWith('{')) return jsonOr(text)
  const geometry = /^[0-9a-f]+$/i.test(text) ? decodeHexWkb(text) : decodeWkt(text)
  return isFault(geometry) ? text : geometry
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text // the gateway says what is wrong with it
  }
}
