import { BYTES_TYPES } from './byte-types.js'
import type { ColumnType } from './column-type.js'
import { NUMBER_TYPES } from './number-types.js'
import { TEXT_TYPES } from './text-types.js'
import { TIME_TYPES } from './time-types.js'

/** Types of the columns of loader tables by `udt_name`. */
export const LOADER_TYPES = {
  timestamptz: TIME_TYPES.timestamptz,
  timestamp: TIME_TYPES.timestamp,
  timetz: TIME_TYPES.timetz,
  time: TIME_TYPES.time,
  date: TIME_TYPES.date,
  int8: NUMBER_TYPES.int8,
  int4: NUMBER_TYPES.int4,
  int2: NUMBER_TYPES.int2,
  float8: NUMBER_TYPES.float8,
  float4: NUMBER_TYPES.float4,
  varchar: TEXT_TYPES.varchar,
  bpchar: TEXT_TYPES.bpchar,
  text: TEXT_TYPES.text,
  bool: NUMBER_TYPES.bool,
  geometry: BYTES_TYPES.geometry,
  file: BYTES_TYPES.file,
  raster: BYTES_TYPES.raster,
  bytea: BYTES_TYPES.bytea,
} as const satisfies Record<string, ColumnType>

/** Name of a type that a column of a loader table may have. */
export type UdtName = keyof typeof LOADER_TYPES

/** Names of `LOADER_TYPES` in their order. */
export const UDT_NAMES = Object.keys(LOADER_TYPES) as UdtName[]

/** Returns a type by its name. */
export function typeOf(udtName: UdtName): ColumnType {
  return LOADER_TYPES[udtName]
}
