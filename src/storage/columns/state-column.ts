import type { ColumnType, ValueRules } from './column-type.js'
import { LOADER_TYPES } from './column-types.js'
import { type DatasetColumn, type DatasetType, DEFAULT_SRID, GEOMETRY_TYPES } from './data-type.js'
import { decimalType } from './decimal-type.js'
import { JSON_TYPE } from './json-type.js'

/** Column of a dataset or loader table, as every reader of its rows sees it. */
export interface StateColumn {
  readonly name: string
  readonly type: ColumnType
  /** PostgreSQL's internal type name */
  readonly udtName: string
  readonly rules: ValueRules
  readonly isNullable: boolean
  /** EPSG code of a geometry column, null for other columns */
  readonly srid: number | null
  readonly isEncrypted: boolean
  /** the stored text is the SHA-256 of a file's bytes */
  readonly isFile: boolean
  /** the type as PostgreSQL's catalogue prints it: `character varying(20)` */
  readonly typeText: string
}

/** Returns a dataset's column with the rules of its type. */
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
    typeText: column.typeText ?? typeText(type),
  }
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

/** ISO WKB type codes in the order of `GEOMETRY_TYPES`; a geometry with heights adds 1000. */
const WKB_CODES = [1, 4, 2, 5, 3, 6, 7]

/** The geometry type, narrowed to one GeoJSON type. */
function onlyType(geometryType: string): ColumnType {
  const code = WKB_CODES[GEOMETRY_TYPES.indexOf(geometryType)]
  return {
    ...LOADER_TYPES.geometry,
    read(json, rules, env) {
      const value = LOADER_TYPES.geometry.read(json, rules, env)
      if (!(value instanceof Uint8Array)) return value
      const found = new DataView(value.buffer, value.byteOffset).getUint32(1, true) % 1000
      if (found === code) return value
      return { found: `a ${GEOMETRY_TYPES[WKB_CODES.indexOf(found)]}`, expected: `a ${geometryType}` }
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
