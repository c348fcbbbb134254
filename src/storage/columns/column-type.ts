/** What a column holds in SQLite. */
export type Stored = null | number | bigint | string | Uint8Array

/** Why a value was refused. */
export interface ValueFault {
  found: string
  expected: string
}

/** Limits that a column sets to its values. */
export interface ValueRules {
  /** characters of text, bytes of `bytea` and `file`; null for any */
  readonly length: number | null
  /** of geometry columns */
  readonly srid: number | null
}

/** What reading and printing depend on besides the value. */
export interface ValueEnv {
  /** `service.timeZone`, minutes east of UTC: read into and printed with datetimes */
  readonly timeZoneMin: number
  /** instant that a default of `now()` stands for, µs UTC */
  readonly nowUs: bigint
}

/**
 * One PostgreSQL type as this gateway keeps it. Value rules are PostgreSQL's; JSON null never reaches these functions.
 */
export interface ColumnType {
  /** the information schema's word for it */
  readonly dataType: string
  readonly sqlType: 'INTEGER' | 'TEXT' | 'BLOB' | 'ANY'
  /** how it is stored, told in the table's own DDL for those who open it with the `sqlite3` shell */
  readonly form: string
  /** SQL that must hold of the column, given its quoted name */
  readonly check?: (column: string) => string
  readonly collation?: 'RTRIM'
  /** what `length` counts; null where it is not allowed */
  readonly lengthUnit: 'characters' | 'bytes' | null
  /** SQL that sorts as the type does; null when the type has no order (then it is not comparable either) */
  readonly sortKey: ((sql: string) => string) | null
  /** JSON value to stored value */
  read(json: unknown, rules: ValueRules, env: ValueEnv): Stored | ValueFault
  /** JSON value of a condition to what the column is compared with: not bound by the column's length or range */
  operand(json: unknown, env: ValueEnv): Stored | ValueFault
  /** stored value to JSON value */
  print(stored: Exclude<Stored, null>, env: ValueEnv): unknown
  /** a checked default as PostgreSQL prints it in its catalogue */
  renderDefault(given: string, stored: Exclude<Stored, null>): string
}

/** Tells a refusal from a stored value. */
export function isFault(value: Stored | ValueFault): value is ValueFault {
  return typeof value === 'object' && value !== null && 'expected' in value
}

/** A literal in SQL quotes with its type, as PostgreSQL deparses constants: `'abc'::text`. */
export function quoteDefault(text: string, dataType: string): string {
  return `'${text.replaceAll("'", "''")}'::${dataType}`
}
