import type { ColumnType, ValueRules } from '../../columns/column-type.js'
import { LOADER_TYPES } from '../../columns/column-types.js'
import { decimalType } from '../../columns/column-types-decimal.js'
import { JSON_TYPE } from '../../columns/column-types-json.js'
import type { Column } from '../../tables.js'

/** A column of a dataset as its catalogue row keeps it. */
export interface DatasetColumn {
  readonly name: string
  readonly type: DatasetType
  readonly isNullable: boolean
}

/** What a `data_type` text says. */
export interface DatasetType {
  /** PostgreSQL's short name */
  readonly udtName: DatasetUdtName
  /** characters of varchar and character, null for any */
  readonly length: number | null
  /** of numeric */
  readonly precision: number | null
  readonly scale: number | null
  /** of geometry, null elsewhere */
  readonly srid: number | null
  /** the one GeoJSON type that a geometry column takes, null for any */
  readonly geometryType: string | null
}

export type DatasetUdtName =
  | Exclude<keyof typeof LOADER_TYPES, 'file' | 'raster'>
  | 'numeric'
  | 'json'
  | 'jsonb'

/** A column as every reading of cited states sees it, of a dataset or of a loader table. */
export interface StateColumn {
  readonly name: string
  readonly type: ColumnType
  readonly udtName: string
  readonly rules: ValueRules
  readonly isNullable: boolean
  readonly srid: number | null
  readonly isEncrypted: boolean
  /** the stored text is the digest of a file's bytes */
  readonly isFile: boolean
  /** the type as PostgreSQL's catalogue prints it: `character varying(20)` */
  readonly typeText: string
}

const SYNONYMS: Record<string, DatasetUdtName> = {
  int: 'int4',
  integer: 'int4',
  int4: 'int4',
  bigint: 'int8',
  int8: 'int8',
  smallint: 'int2',
  int2: 'int2',
  'double precision': 'float8',
  double: 'float8',
  float: 'float8',
  float8: 'float8',
  real: 'float4',
  float4: 'float4',
  numeric: 'numeric',
  decimal: 'numeric',
  varchar: 'varchar',
  'character varying': 'varchar',
  char: 'bpchar',
  character: 'bpchar',
  bpchar: 'bpchar',
  text: 'text',
  boolean: 'bool',
  bool: 'bool',
  timestamp: 'timestamp',
  'timestamp without time zone': 'timestamp',
  timestamptz: 'timestamptz',
  'timestamp with time zone': 'timestamptz',
  date: 'date',
  time: 'time',
  'time without time zone': 'time',
  timetz: 'timetz',
  'time with time zone': 'timetz',
  geometry: 'geometry',
  json: 'json',
  jsonb: 'jsonb',
  bytea: 'bytea',
}

/** Types that `data_type` may name. */
export const DATA_TYPE_NAMES = Object.keys(SYNONYMS)

const DEFAULT_SRID = 4326
const MAX_SRID = 998_999
const MAX_TEXT_LENGTH = 10_485_760
const GEOMETRY_TYPES = [
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
]

/** Reads a `data_type`: any case, `varchar(20)`, `numeric(10, 2)`, `geometry(Point, 4326)`. Undefined when it is none. */
export function parseDataType(text: string): DatasetType | undefined {
  const match = /^\s*([a-z0-9]+(?:\s+[a-z]+)*)\s*(?:\(([^()]*)\))?\s*$/i.exec(text)
  const name = match?.[1]?.toLowerCase().replace(/\s+/g, ' ') ?? ''
  const udtName = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined
  if (udtName === undefined) return undefined
  const args = match?.[2]?.split(',').map((arg) => arg.trim())
  const plain = plainType(udtName)
  if (args === undefined) return name === 'char' || name === 'character' ? { ...plain, length: 1 } : plain
  switch (udtName) {
    case 'varchar':
    case 'bpchar':
      return withLength(plain, args)
    case 'numeric':
      return withPrecision(plain, args)
    case 'geometry':
      return withGeometryType(plain, args)
    default:
      return undefined
  }
}

/** A column of a dataset with what is known of its type. */
export function stateColumn(column: DatasetColumn): StateColumn {
  const { type } = column
  return {
    name: column.name,
    type: columnType(type),
    udtName: type.udtName,
    rules: { length: type.length, srid: type.srid },
    isNullable: column.isNullable,
    srid: type.srid,
    isEncrypted: false,
    isFile: false,
    typeText: typeText(type),
  }
}

/** The same of a loader table's column. */
export function stateColumnOfLoader(column: Column): StateColumn {
  const type = LOADER_TYPES[column.udtName]
  const isUserDefined = type.dataType === 'USER-DEFINED'
  const length = column.length === null ? '' : `(${column.length})`
  return {
    name: column.name,
    type,
    udtName: column.udtName,
    rules: column,
    isNullable: column.isNullable,
    srid: column.srid,
    isEncrypted: column.isEncrypted,
    isFile: column.file !== null,
    typeText: isUserDefined ? column.udtName : `${type.dataType}${type.sqlType === 'TEXT' ? length : ''}`,
  }
}

function plainType(udtName: DatasetUdtName): DatasetType {
  const srid = udtName === 'geometry' ? DEFAULT_SRID : null
  return { udtName, length: null, precision: null, scale: null, srid, geometryType: null }
}

function withLength(plain: DatasetType, args: string[]): DatasetType | undefined {
  const length = wholeNumber(args[0], 1, MAX_TEXT_LENGTH)
  return args.length === 1 && length !== undefined ? { ...plain, length } : undefined
}

function withPrecision(plain: DatasetType, args: string[]): DatasetType | undefined {
  const precision = wholeNumber(args[0], 1, 1000)
  const scale = args.length === 1 ? 0 : wholeNumber(args[1], 0, precision ?? 0)
  if (args.length > 2 || precision === undefined || scale === undefined) return undefined
  return { ...plain, precision, scale }
}

/** `Point` and `PointZ` are the same here: heights are kept wherever they come. */
function withGeometryType(plain: DatasetType, args: string[]): DatasetType | undefined {
  const given = (args[0] ?? '').replace(/\s*Z$/i, '').toLowerCase()
  const geometryType = GEOMETRY_TYPES.find((type) => type.toLowerCase() === given) ?? null
  const srid = args.length === 1 ? DEFAULT_SRID : wholeNumber(args[1], 1, MAX_SRID)
  const isKnown = geometryType !== null || given === 'geometry'
  return args.length <= 2 && isKnown && srid !== undefined ? { ...plain, geometryType, srid } : undefined
}

function wholeNumber(text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined
  const value = Number(text)
  return value >= min && value <= max ? value : undefined
}

function columnType(type: DatasetType): ColumnType {
  switch (type.udtName) {
    case 'numeric':
      return decimalType(type.precision, type.scale)
    case 'json':
    case 'jsonb':
      return JSON_TYPE
    case 'geometry':
      return type.geometryType === null ? LOADER_TYPES.geometry : onlyType(type.geometryType)
    default:
      return LOADER_TYPES[type.udtName]
  }
}

/** ISO WKB type codes, the place in `GEOMETRY_TYPES`; heights add 1000. */
const WKB_CODES = [1, 4, 2, 5, 3, 6, 7]

function onlyType(geometryType: string): ColumnType {
  const code = WKB_CODES[GEOMETRY_TYPES.indexOf(geometryType)]
  return {
    ...LOADER_TYPES.geometry,
    read(json, rules, env) {
      const value = LOADER_TYPES.geometry.read(json, rules, env)
      if (!(value instanceof Uint8Array)) return value
      const found = new DataView(value.buffer, value.byteOffset).getUint32(1, true) % 1000
      if (found === code) return value
      const name = GEOMETRY_TYPES[WKB_CODES.indexOf(found)] ?? 'another geometry'
      return { found: `a ${name}`, expected: `a ${geometryType}` }
    },
  }
}

function typeText({ udtName, length, precision, scale, srid, geometryType }: DatasetType): string {
  if (udtName === 'geometry') {
    return geometryType === null && srid === DEFAULT_SRID
      ? 'geometry'
      : `geometry(${geometryType ?? 'Geometry'},${srid})`
  }
  if (udtName === 'json' || udtName === 'jsonb') return udtName
  if (udtName === 'numeric') return precision === null ? 'numeric' : `numeric(${precision},${scale})`
  const { dataType } = LOADER_TYPES[udtName]
  return length === null ? dataType : `${dataType}(${length})`
}
