import type { MapSettings } from '../config/ingest.js'
import { formatDatetime, parseOffset } from '../datetime.js'
import { isRawNumber } from '../json/exact-json.js'
import { parsePath, valueAt } from './mapping/paths.js'
import { type CsvForm, readPayload } from './mapping/payload.js'
import { type Place, type PlaceRule, placeOf } from './mapping/place.js'
import { boundsFault, type Misfit, readTime } from './mapping/time.js'
import { type Levels, topicTest } from './mapping/topics.js'
import { createPreset } from './presets/presets.js'
import type { Preset, Reading } from './presets/reading.js'

/** A row to store: a GeoJSON Feature without its geometry, and where that comes from. */
export interface MappedRow {
  readonly properties: Readonly<Record<string, unknown>>
  readonly place: Place
}

/** Facts about a message besides its topic and payload. */
export interface Arrival {
  /** wall clock, µs UTC */
  readonly nowUs: number
  /** false: times are not compared with the clock */
  readonly isClockTrusted: boolean
  /** minutes east of UTC, for times without an offset */
  readonly timeZoneMin: number
}

/** Facts that a mapping needs on the table that rows go to. */
export interface TableFacts {
  /** its columns: true for those of text */
  readonly kinds: ReadonlyMap<string, boolean>
  /** columns of its key that a row must fill */
  readonly keyColumns: readonly string[]
}

/** Makes rows of messages. */
export interface Mapping {
  readonly settings: MapSettings
  /** columns that the settings name */
  readonly columns: readonly string[]
  matches(topic: string, levels: Levels): boolean
  /** @returns rows; none for a message that is no reading; or why it cannot be stored */
  rowsOf(
    levels: Levels,
    payload: Uint8Array,
    table: TableFacts,
    arrival: Arrival,
  ): readonly MappedRow[] | Misfit
}

/** Columns that a preset fills where the table has them. */
const DEVICE_COLUMN = 'device'
const KEY_COLUMN = 'message_key'

/** Makes the mapping of some settings. */
export function createMapping(settings: MapSettings): Mapping {
  const { preset: name, time, topicColumns } = settings
  const paths = Object.entries(settings.columns).map(([column, path]) => [column, parsePath(path)] as const)
  const read = name === undefined ? plainReader(settings) : presetReader(createPreset(name))
  const rule = placeRuleOf(settings)
  const timePath = time.path === undefined ? undefined : parsePath(time.path)
  const zoneMin = time.zone === undefined ? undefined : parseOffset(time.zone)
  const startOf = ({ value, time: found }: Found, arrival: Arrival): bigint | Misfit => {
    const given = timePath === undefined ? found : valueAt(value, timePath)
    const isAbsent = given === null || given === undefined
    if (isAbsent && (timePath === undefined || time.orArrival)) return BigInt(arrival.nowUs)
    const us = readTime(given, time.unit, zoneMin ?? arrival.timeZoneMin)
    const fault =
      typeof us === 'bigint' && arrival.isClockTrusted ? boundsFault(us, arrival.nowUs, time) : undefined
    if (fault !== undefined) return { misfit: `time: ${fault}` }
    return typeof us === 'bigint' ? us : { misfit: `time: ${us.misfit}` }
  }
  const rowOf = (found: Found, levels: Levels, table: TableFacts, arrival: Arrival): MappedRow | Misfit => {
    const startUs = startOf(found, arrival)
    if (typeof startUs !== 'bigint') return startUs
    const properties: Record<string, unknown> = timesOf(startUs, time.durationS)
    const set = (column: string, value: unknown) => {
      if (value !== undefined)
        properties[column] = table.kinds.get(column) === true ? textOf(value) : plain(value)
    }
    for (const [column, value] of found.byName) if (table.kinds.has(column)) set(column, value)
    for (const [column, path] of paths) set(column, valueAt(found.value, path))
    for (const [column, level] of Object.entries(topicColumns)) {
      const text = levels[level - 1]
      if (text === undefined) return { misfit: `topic: found ${levels.length} levels, expected ${level}` }
      set(column, text)
    }
    const open = table.keyColumns.find((column) => (properties[column] ?? null) === null)
    if (open !== undefined)
      return { misfit: `${open}: found nothing, expected a value, because the column is part of the key` }
    const place = placeOf(rule, found.value, properties)
    return 'misfit' in place ? place : { properties, place }
  }
  return {
    settings,
    columns: [...Object.keys(settings.columns), ...Object.keys(topicColumns)],
    matches: topicTest(settings.filter),
    rowsOf(levels, payload, table, arrival) {
      const found = read(levels, payload)
      if ('misfit' in found) return found
      const rows: MappedRow[] = []
      for (const one of found) {
        const row = rowOf(one, levels, table, arrival)
        if ('misfit' in row) return row
        rows.push(row)
      }
      return rows
    },
  }
}

/** Content of a message, before columns are known. */
interface Found {
  /** where paths are looked up */
  readonly value: unknown
  /** null for the time of arrival */
  readonly time: unknown
  /** values that go to the columns of their names */
  readonly byName: Iterable<readonly [string, unknown]>
}

type Reader = (levels: Levels, payload: Uint8Array) => readonly Found[] | Misfit

function plainReader({ payload = 'json', csv }: MapSettings): Reader {
  const form: CsvForm = csv ?? { separator: ',', fields: [] }
  return (_levels, bytes) => {
    const read = readPayload(bytes, payload, form)
    return 'misfit' in read ? read : [{ value: read.value, time: null, byName: [] }]
  }
}

function presetReader(preset: Preset): Reader {
  return (levels, payload) => {
    const readings = preset({ levels, payload })
    if (readings === null) return []
    return 'misfit' in readings ? readings : readings.map(foundOf)
  }
}

function foundOf({ device, key, time, values, message }: Reading): Found {
  // a column may not have all characters of a metric's name
  const byName = [...values].flatMap(([name, value]) => {
    const plainName = name.replaceAll(/[^\p{L}\p{N}_.-]/gu, '_')
    return plainName === name
      ? [[name, value] as const]
      : [[plainName, value] as const, [name, value] as const]
  })
  const own = [[DEVICE_COLUMN, device] as const, [KEY_COLUMN, key ?? undefined] as const]
  return {
    value: { device, key, time, values: Object.fromEntries(values), message },
    time,
    byName: [...byName, ...own],
  }
}

function placeRuleOf({ position }: MapSettings): PlaceRule {
  if (position === undefined) return { kind: 'none' }
  const { fixed, lon, lat, geometry, table, key, column, required: isRequired } = position
  if (fixed !== undefined) return { kind: 'fixed', position: fixed }
  if (geometry !== undefined) return { kind: 'geometry', path: parsePath(geometry), isRequired }
  if (lon !== undefined && lat !== undefined)
    return { kind: 'lonLat', lon: parsePath(lon), lat: parsePath(lat), isRequired }
  if (table !== undefined && key !== undefined && column !== undefined)
    return { kind: 'device', table, keyColumn: key, column }
  return { kind: 'none' } // no test: the settings have one of the four
}

function timesOf(startUs: bigint, durationS: number | undefined): Record<string, unknown> {
  const start = { start_datetime: formatDatetime(startUs, 0) }
  if (durationS === undefined) return start
  return { ...start, end_datetime: formatDatetime(startUs + BigInt(Math.round(durationS * 1e6)), 0) }
}

/** Returns a value as the text of a column: what is no text is printed as JSON. */
function textOf(value: unknown): unknown {
  if (typeof value === 'string' || value === null) return value
  return isRawNumber(value) ? value.rawJSON : JSON.stringify(value)
}

/** Returns a value as a column of another type takes it. */
function plain(value: unknown): unknown {
  return isRawNumber(value) ? value.rawJSON : value
}
