import { isRawNumber } from '../../json/exact-json.js'
import { describeFound } from '../../messages/fault-text.js'
import { type Path, valueAt } from './paths.js'
import type { Misfit } from './time.js'

/** Where the geometry of a row comes from. */
export type PlaceRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'fixed'; readonly position: readonly [number, number] }
  | { readonly kind: 'lonLat'; readonly lon: Path; readonly lat: Path; readonly isRequired: boolean }
  | { readonly kind: 'geometry'; readonly path: Path; readonly isRequired: boolean }
  | { readonly kind: 'device'; readonly table: string; readonly keyColumn: string; readonly column: string }

/** A GeoJSON geometry, unchecked; or the device whose row in a table has it. */
export type Place =
  | { readonly geometry: unknown }
  | { readonly table: string; readonly keyColumn: string; readonly device: string }

/**
 * Returns the place of a row.
 *
 * @param value the value in which paths are looked up
 * @param properties of the row, one of which names the device
 */
export function placeOf(
  rule: PlaceRule,
  value: unknown,
  properties: Readonly<Record<string, unknown>>,
): Place | Misfit {
  switch (rule.kind) {
    case 'none':
      return { geometry: null }
    case 'fixed':
      return { geometry: { type: 'Point', coordinates: rule.position } }
    case 'lonLat':
      return lonLatOf(rule, value)
    case 'geometry': {
      const geometry = valueAt(value, rule.path) ?? null
      return geometry === null && rule.isRequired
        ? { misfit: 'position: found none, expected a geometry' }
        : { geometry }
    }
    case 'device': {
      const device = properties[rule.column]
      if (typeof device !== 'string' && typeof device !== 'number')
        return { misfit: `position: found ${describeFound(device)} in ${rule.column}, expected a device` }
      return { table: rule.table, keyColumn: rule.keyColumn, device: String(device) }
    }
  }
}

function lonLatOf(
  { lon, lat, isRequired }: Extract<PlaceRule, { kind: 'lonLat' }>,
  value: unknown,
): Place | Misfit {
  const found = [valueAt(value, lon) ?? null, valueAt(value, lat) ?? null]
  if (found.every((one) => one === null) && !isRequired) return { geometry: null } // no fix yet
  const position = found.map(numberOf)
  if (position.some((one) => one === undefined))
    return { misfit: `position: found ${found.map(describeFound).join(' and ')}, expected two numbers` }
  return { geometry: { type: 'Point', coordinates: position } }
}

function numberOf(value: unknown): number | undefined {
  const text = isRawNumber(value) ? value.rawJSON : value
  const number = typeof text === 'string' && text.trim() !== '' ? Number(text) : text
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}
