import type { z } from 'zod'
import { parseDatetime } from '../../datetime.js'
import { AppError, invalidParams } from '../../errors.js'
import { countPositions } from '../../geo/coordinates.js'
import { isFault } from '../../geo/fault.js'
import { parseGeometry } from '../../geo/parse-geometry.js'
import { coversArea } from '../../geo/ring-area.js'
import type { MultiPolygon, Polygon, Position } from '../../geo/types.js'
import { describeFound } from '../../messages/fault-text.js'
import type { RequestPoint } from '../../route-answer/request-point.js'
import type { ProfileRequest } from '../../route-engine/requests.js'
import type { RoutingContext } from './context.js'
import type { Vehicle as VehicleSchema } from './schema.js'

const LEVELS = 11
/** Largest sensitivity; larger ones count as this one. Sums of it stay finite. */
const MAX_SENSITIVITY = 1e12

/** Reads a datetime of a request. @returns µs UTC @throws AppError INVALID_PARAMS */
export function readInstant(value: string | { val: string }, path: string, timeZoneMin: number): bigint {
  const parsed = parseDatetime(typeof value === 'string' ? value : value.val, timeZoneMin)
  if (typeof parsed === 'bigint') return parsed
  throw invalid(path, `found ${JSON.stringify(parsed.found)}, expected ${parsed.expected}`)
}

/** Parameters of the risk, in requests where the time may be absent. */
interface RiskParams {
  map?: string | undefined
  themes: Record<string, unknown>
  start_datetime?: string | { val: string } | undefined
  vehicle?: VehicleParams | undefined
}

/**
 * Reads map, themes and the time, which may be absent without themes.
 *
 * @throws AppError INVALID_PARAMS, BAD_SENSITIVITY, TOO_MANY_ITEMS
 */
export function readRisk(
  params: RiskParams,
  { config, timeZoneMin }: Pick<RoutingContext, 'config' | 'timeZoneMin'>,
): Pick<ProfileRequest, 'map' | 'themes' | 'vehicle' | 'startUs'> {
  const themes = readThemes(params.themes, config.routing.maxThemes)
  const { map, start_datetime } = params
  const vehicle = readVehicle(params.vehicle)
  if (start_datetime !== undefined)
    return { map, themes, vehicle, startUs: readInstant(start_datetime, '$.start_datetime', timeZoneMin) }
  if (themes.length === 0) return { map, themes, vehicle, startUs: undefined }
  throw invalid('$.start_datetime', 'found nothing, expected a datetime, which themes require')
}

type VehicleParams = NonNullable<z.output<typeof VehicleSchema>>

/** Reads the vehicle of a request. */
export function readVehicle(vehicle: VehicleParams | undefined): ProfileRequest['vehicle'] {
  if (vehicle === undefined) return undefined
  const { height_m, width_m, length_m, weight_t, axle_load_t, hazmat, emergency } = vehicle
  return {
    ...{ heightM: height_m, widthM: width_m, lengthM: length_m },
    ...{ weightT: weight_t, axleLoadT: axle_load_t, isHazmat: hazmat },
    isEmergency: emergency,
  }
}

/** Reads a point of a request, under the name that messages use. */
export function readPoint(lonlat: readonly number[], role: string): RequestPoint {
  const [lng = 0, lat = 0] = lonlat
  return { role, lng, lat }
}

/** Reads themes with their sensitivities. @throws AppError BAD_SENSITIVITY, TOO_MANY_ITEMS */
export function readThemes(themes: Record<string, unknown>, maxThemes: number): [string, number[]][] {
  const entries = Object.entries(themes)
  checkCount('themes', entries.length, maxThemes)
  return entries.map(([theme, values]) => [theme, readSensitivity(theme, values)])
}

/** Reads and checks closed areas. @throws AppError INVALID_PARAMS, TOO_MANY_ITEMS */
export function readPolygons(
  polygons: readonly unknown[],
  { maxAvoidPolygons, maxAvoidPositions }: RoutingContext['config']['routing'],
): (Polygon | MultiPolygon)[] {
  checkCount('avoid_polygons', polygons.length, maxAvoidPolygons)
  let positions = 0
  const areas = polygons.map((polygon, i) => {
    const path = `$.avoid_polygons[${i}]`
    const geometry = parseGeometry(polygon, path)
    if (isFault(geometry))
      throw invalid(geometry.path, `found ${geometry.found}, expected ${geometry.expected}`)
    const area = geometry as Polygon | MultiPolygon // the schema has checked `type`
    positions += countPositions(area.coordinates)
    // before the areas of the rings: what is refused for its size should cost little
    checkCount('positions of avoid_polygons', positions, maxAvoidPositions)
    checkCoversArea(area, `${path}.coordinates`)
    return area
  })
  return areas
}

/**
 * Checks that an area is one: a polygon without rings, or a ring that is a line, would close no road.
 *
 * @throws AppError INVALID_PARAMS
 */
function checkCoversArea({ type, coordinates }: Polygon | MultiPolygon, path: string): void {
  const checkRings = (rings: readonly Position[][], at: string) => {
    if (rings.length === 0) throw invalid(at, 'found no ring, expected a ring around an area')
    for (const [i, ring] of rings.entries()) {
      if (coversArea(ring)) continue
      throw invalid(`${at}[${i}]`, 'found a ring without an area, expected one around an area')
    }
  }
  if (type === 'Polygon') {
    checkRings(coordinates, path)
    return
  }
  if (coordinates.length === 0) throw invalid(path, 'found no polygon, expected at least one')
  for (const [i, rings] of coordinates.entries()) checkRings(rings, `${path}[${i}]`)
}

/** Checks the length of a list. @throws AppError TOO_MANY_ITEMS */
export function checkCount(list: string, found: number, limit: number): void {
  if (found <= limit) return
  throw new AppError(
    'TOO_MANY_ITEMS',
    { list, found, limit },
    { message: `Found ${found} ${list}, expected at most ${limit}` },
  )
}

/** Creates the error of one parameter that the schema cannot check. */
export function invalid(path: string, message: string): AppError {
  return invalidParams([{ path, message }])
}

function readSensitivity(theme: string, values: unknown): number[] {
  if (!Array.isArray(values))
    throw badSensitivity(theme, null, `found ${describeFound(values)}, expected an array of 11 numbers`)
  if (values.length !== LEVELS)
    throw badSensitivity(theme, null, `found ${values.length} values, expected 11`)
  values.forEach((value: unknown, level) => {
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return
    throw badSensitivity(
      theme,
      level,
      `found ${describeFound(value)} for level ${level}, expected a finite number, 0 or more`,
    )
  })
  return values.map((value: number) => Math.min(value, MAX_SENSITIVITY))
}

function badSensitivity(theme: string, level: number | null, what: string): AppError {
  const name = theme.slice(0, 100)
  return new AppError(
    'BAD_SENSITIVITY',
    { theme: name, level },
    { message: `Theme ${JSON.stringify(name)}: ${what}` },
  )
}
