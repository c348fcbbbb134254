import type { DeviceSettings } from '../../config/modbus.js'
import { formatDatetime } from '../../datetime.js'
import type { LoaderTable } from '../../storage/tables.js'
import type { DevicePlaces } from '../devices.js'
import { mappedTable } from '../mapped-tables.js'
import type { PendingRow } from '../row-sink.js'
import type { BusLink } from './link.js'
import { blocksOf, differs, registerValue, type Value } from './registers.js'

/** Values of a reading, in the order of the registers of the settings. */
export type Reading = readonly Value[]

/** A device of a bus. */
export interface Device {
  readonly settings: DeviceSettings
  /** Reads all registers. @param pause waits between two requests */
  read(link: BusLink, pause: () => Promise<void>): Promise<Reading>
  /** Reports whether a reading is to be stored, given the one that was stored last. */
  isNews(reading: Reading, atUs: number): boolean
  /** Notes the reading that was stored last. */
  note(reading: Reading, atUs: number): void
  /** Says why readings do not fit a table; undefined where they may. @param table undefined where none has the name */
  faultOf(table: LoaderTable | undefined): string | undefined
  /** Makes the row of a reading; or says why there is none. */
  rowOf(
    reading: Reading,
    atUs: number,
    table: LoaderTable,
    places: DevicePlaces,
  ): Promise<PendingRow | { readonly misfit: string }>
}

/** Creates a device. */
export function createDevice(settings: DeviceSettings): Device {
  const { registers, unit, store, maxQuietS } = settings
  const blocks = blocksOf(registers, settings.gap)
  let last: { readonly reading: Reading; readonly atUs: number } | undefined
  return {
    settings,
    async read(link, pause) {
      const values = new Map<object, Value>()
      for (const [at, block] of blocks.entries()) {
        if (at > 0) await pause()
        const data = await link.read(unit, block)
        for (const register of block.registers) values.set(register, registerValue(register, block, data))
      }
      return registers.map((register) => values.get(register) ?? null)
    },
    isNews(reading, atUs) {
      if (store === 'all' || last === undefined) return true
      // a clock that was set back must not keep readings away
      const quietUs = Math.abs(atUs - last.atUs)
      const { reading: before } = last
      return (
        quietUs >= maxQuietS * 1e6 ||
        registers.some(({ deadband }, at) => differs(reading[at] ?? null, before[at], deadband))
      )
    },
    note(reading, atUs) {
      last = { reading, atUs }
    },
    faultOf: (table) => faultOf(settings, table),
    rowOf: (reading, atUs, table, places) => rowOf(settings, { reading, atUs }, table, places),
  }
}

/** Columns that every row of a device fills. */
function filledColumns({ registers, values, deviceColumn }: DeviceSettings): string[] {
  const columns = [...registers.map(({ column }) => column), ...Object.keys(values)]
  return deviceColumn === undefined ? columns : [...columns, deviceColumn]
}

function faultOf(settings: DeviceSettings, table: LoaderTable | undefined): string | undefined {
  const { name, table: tableName, durationS } = settings
  if (table === undefined) return `the device ${name} waits for the table ${tableName}, which does not exist`
  const columns = filledColumns(settings)
  const unknown = columns.find((column) => !table.columnByName.has(column))
  if (unknown !== undefined)
    return `the device ${name} names the column ${unknown}, which the table ${tableName} does not have`
  const filled = ['start_datetime', ...(durationS === undefined ? [] : ['end_datetime']), ...columns]
  const missing = mappedTable(table).facts.keyColumns.find((column) => !filled.includes(column))
  return missing === undefined
    ? undefined
    : `the device ${name} does not fill ${missing}, which is part of the key of the table ${tableName}`
}

async function rowOf(
  settings: DeviceSettings,
  { reading, atUs }: { readonly reading: Reading; readonly atUs: number },
  table: LoaderTable,
  places: DevicePlaces,
): Promise<PendingRow | { readonly misfit: string }> {
  const { name, registers, values, deviceColumn, durationS } = settings
  const { kinds } = mappedTable(table).facts
  const properties: Record<string, unknown> = { start_datetime: timeText(atUs) }
  if (durationS !== undefined)
    properties.end_datetime = timeText(Math.min(atUs + Math.round(durationS * 1e6), Number.MAX_SAFE_INTEGER))
  const set = (column: string, value: Value) => {
    const isText = kinds.get(column) === true && value !== null
    properties[column] = isText ? String(value) : value
  }
  for (const [column, value] of Object.entries(values)) set(column, value)
  if (deviceColumn !== undefined) set(deviceColumn, name)
  for (const [at, { column }] of registers.entries()) set(column, reading[at] ?? null)
  const place = await placeOf(settings, places)
  if ('misfit' in place) return place
  return { table, ifExists: 'skip', record: { type: 'Feature', geometry: place.geometry, properties } }
}

async function placeOf(
  { name, position }: DeviceSettings,
  places: DevicePlaces,
): Promise<{ geometry: unknown } | { misfit: string }> {
  if (position?.fixed !== undefined) return { geometry: { type: 'Point', coordinates: position.fixed } }
  if (position?.table === undefined || position.key === undefined) return { geometry: null }
  places.refresh()
  return await places.find(position.table, position.key, name)
}

function timeText(us: number): string {
  return formatDatetime(BigInt(us), 0)
}
