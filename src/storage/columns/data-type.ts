import type { LOADER_TYPES } from './column-types.js'

/** Column of a dataset, as the catalogue stores it. */
export interface DatasetColumn {
  readonly name: string
  readonly type: DatasetType
  readonly isNullable: boolean
  /** the type as the first line of the canonical text has it, where another node prints it otherwise */
  readonly typeText?: string
}

/** Parsed `data_type` text. */
export interface DatasetType {
  /** PostgreSQL's internal type name */
  readonly udtName: DatasetUdtName
  /** longest value of varchar and character, in characters; null for no limit */
  readonly length: number | null
  /** total digits of a numeric, null for any */
  readonly precision: number | null
  /** digits after the point of a numeric, null for any */
  readonly scale: number | null
  /** EPSG code of a geometry, null for other types */
  readonly srid: number | null
  /** the only GeoJSON type that a geometry column accepts, null for any */
  readonly geometryType: string | null
}

type DatasetUdtName = Exclude<keyof typeof LOADER_TYPES, 'file' | 'raster'> | 'numeric' | 'json' | 'jsonb'

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

/** Type names that `data_type` accepts, synonyms included. */
export const DATA_TYPE_NAMES = Object.keys(SYNONYMS)

export const DEFAULT_SRID = 4326
/** PostGIS's largest code for user-defined systems */
const MAX_SRID = 998_999
/** PostgreSQL's limit of varchar(n) */
const MAX_TEXT_LENGTH = 10_485_760
export const GEOMETRY_TYPES = [
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
]

/**
 * Parses a `data_type` in any case: `varchar(20)`, `numeric(10, 2)`, `geometry(Point, 4326)`.
 *
 * @returns undefined when the text names no type, or its arguments do not fit
 */
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

/** `Point` and `PointZ` are the same type: heights are kept wherever they are given. */
function withGeometryType(plain: DatasetType, args: string[]): DatasetType | undefined {
  const [first = '', ofSystem] = args
  const given = first.replace(/\s*Z$/i, '').toLowerCase()
  const geometryType = GEOMETRY_TYPES.find((type) => type.toLowerCase() === given) ?? null
  const srid = args.length === 1 ? DEFAULT_SRID : wholeNumber(ofSystem, 1, MAX_SRID)
  const isKnown = geometryType !== null || given === 'geometry'
  return args.length <= 2 && isKnown && srid !== undefined ? { ...plain, geometryType, srid } : undefined
}

function wholeNumber(text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined
  const value = Number(text)
  return value >= min && value <= max ? value : undefined
}
