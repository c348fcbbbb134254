/** A stored value of a column. */
export type Stored = null | number | bigint | string | Uint8Array

/** Reason why a value was refused. */
export interface ValueFault {
  found: string
  expected: string
}

/** Limits that a column sets to its values. */
export interface ValueRules {
  /** most characters of text, or bytes of `bytea` and `file`; null for no limit */
  readonly length: number | null
  /** spatial reference system of a geometry column; null for other columns */
  readonly srid: number | null
}

/** Facts besides the value that reading and printing depend on. */
export interface ValueEnv {
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** value of `now()`, µs UTC */
  readonly nowUs: bigint
}

/**
 * JavaScript type of the stored values: `integer` is number or bigint; `float` is number, or the text NaN.
 */
type StoredKind = 'integer' | 'float' | 'text' | 'bytes'

/**
 * Order of the values of a type: of the stored values themselves, of text without the spaces at its end, or
 * of a key that `decimalSortKey` or `timetzSortKey` derives.
 */
export type ValueOrder = 'stored' | 'trimmed' | 'decimal' | 'timetz'

/**
 * Values that a column accepts beside null, for the database to enforce: an inclusive range, 0 and 1, or JSON
 * text.
 */
type ValueDomain = { readonly min: bigint; readonly max: bigint } | 'boolean' | 'json'

/** A PostgreSQL type, with PostgreSQL's rules for its values. JSON null never reaches the functions. */
export interface ColumnType {
  /** name in the information schema */
  readonly dataType: string
  readonly kind: StoredKind
  /** stored form in words, for readers of the database with other programs */
  readonly form: string
  readonly domain?: ValueDomain
  /** unit of `length`; null where no length is allowed */
  readonly lengthUnit: 'characters' | 'bytes' | null
  /** null for a type that has no order, whose values cannot be compared either */
  readonly order: ValueOrder | null
  /** Converts a JSON value to a stored value. */
  read(json: unknown, rules: ValueRules, env: ValueEnv): Stored | ValueFault
  /**
   * Converts a JSON value of a condition to the value to compare with; the column's length and range do not
   * apply.
   */
  operand(json: unknown, env: ValueEnv): Stored | ValueFault
  /** Converts a stored value to its JSON value. */
  print(stored: Exclude<Stored, null>, env: ValueEnv): unknown
  /** Returns a checked default as PostgreSQL's catalogue prints it. */
  renderDefault(given: string, stored: Exclude<Stored, null>): string
}

/** True for a fault, false for a stored value. */
export function isFault(value: Stored | ValueFault): value is ValueFault {
  return typeof value === 'object' && value !== null && 'expected' in value
}

/** Returns a quoted literal with its type, as PostgreSQL prints constants: `'abc'::text`. */
export function quoteDefault(text: string, dataType: string): string {
  return `'${text.replaceAll("'", "''")}'::${dataType}`
}
