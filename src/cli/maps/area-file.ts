import { readFileSync } from 'node:fs'
import { messageOf } from '../../errors.js'
import { faultText, isFault } from '../../geo/fault.js'
import { parseGeometry } from '../../geo/parse-geometry.js'
import type { MultiPolygon, Polygon, Position } from '../../geo/types.js'

/**
 * Reads an area from GeoJSON: a Polygon or MultiPolygon, a Feature of one, or a FeatureCollection of them,
 * which become one area together.
 *
 * @throws Error in one line that says what was found, what was expected, and where
 */
export function readAreaFile(file: string): Polygon | MultiPolygon {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file}: cannot be read as JSON (${messageOf(error)})`, { cause: error })
  }
  const polygons: Position[][][] = []
  collect(file, json, '$', polygons)
  const [only] = polygons
  if (only === undefined) throw new Error(`${file}: found no area, expected at least one polygon`)
  return polygons.length === 1
    ? { type: 'Polygon', coordinates: only }
    : { type: 'MultiPolygon', coordinates: polygons }
}

function collect(file: string, json: unknown, path: string, polygons: Position[][][]): void {
  if (isRecord(json) && json.type === 'FeatureCollection' && Array.isArray(json.features)) {
    for (const [i, feature] of json.features.entries())
      collect(file, feature, `${path}.features[${i}]`, polygons)
    return
  }
  if (isRecord(json) && json.type === 'Feature') {
    collect(file, json.geometry, `${path}.geometry`, polygons)
    return
  }
  const geometry = parseGeometry(json, path)
  if (isFault(geometry)) throw new Error(`${file}: ${faultText(geometry)}`)
  if (geometry.type === 'Polygon') polygons.push(geometry.coordinates)
  else if (geometry.type === 'MultiPolygon') polygons.push(...geometry.coordinates)
  else throw new Error(`${file}: ${path}: found a ${geometry.type}, expected a Polygon or MultiPolygon`)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
