import { jsonPieces } from '../json/json-pieces.js'
import type { FeatureColumn } from '../storage/features.js'
import type { TableRow } from '../storage/tables.js'
import { type Crs, projectGeometry } from './crs.js'
import type { Link } from './types.js'

/**
 * Returns the GeoJSON text of a Feature. Numbers of a type with decimals always have a decimal point: a
 * reader that infers types from the first features would take `12` for an integer and truncate a later
 * `12.5`. An infinite time is null: RFC 3339, which the schema of the features names, has none.
 */
export function featureText(row: TableRow, columns: readonly FeatureColumn[], crs: Crs): string {
  const geometry = row.geometry === null ? null : projectGeometry(row.geometry, crs)
  const properties = columns.map(
    ({ name, udtName }) => `${JSON.stringify(name)}:${valueText(row.properties[name], udtName)}`,
  )
  return `{"type":"Feature","id":${row.rowId},"geometry":${JSON.stringify(geometry)},"properties":{${properties.join(',')}}}`
}

/**
 * Yields the same in pieces, for a row with large values.
 *
 * @param links links of a single feature
 */
export function* featurePieces(
  row: TableRow,
  columns: readonly FeatureColumn[],
  crs: Crs,
  links?: Link[],
): Generator<string> {
  yield `{"type":"Feature","id":${row.rowId},"geometry":`
  yield* jsonPieces(row.geometry === null ? null : projectGeometry(row.geometry, crs))
  let before = ',"properties":{'
  for (const { name, udtName } of columns) {
    yield `${before}${JSON.stringify(name)}:`
    before = ','
    const value = row.properties[name]
    if (WITH_DECIMALS.includes(udtName)) yield valueText(value, udtName)
    else yield* jsonPieces(isInfinity(value, udtName) ? null : (value ?? null))
  }
  yield before === ',' ? '}' : `${before}}`
  yield links === undefined ? '}' : `,"links":${JSON.stringify(links)}}`
}

function isInfinity(value: unknown, udtName: string): boolean {
  const isTime = udtName === 'timestamptz' || udtName === 'timestamp' || udtName === 'date'
  return isTime && (value === 'infinity' || value === '-infinity')
}

const WITH_DECIMALS = ['float4', 'float8', 'numeric']

function valueText(value: unknown, udtName: string): string {
  const text = JSON.stringify(isInfinity(value, udtName) ? null : (value ?? null))
  if (!WITH_DECIMALS.includes(udtName)) return text
  if (typeof value === 'number') return /^-?\d+$/.test(text) ? `${text}.0` : text
  // more digits than a double holds: JSON has no such limit
  if (typeof value === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value))
    return value.includes('.') ? value : `${value}.0`
  return text
}
