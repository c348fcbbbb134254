import { describeValue } from '../../geo/fault.js'
import { type ColumnType, quoteDefault, type Stored, type ValueFault } from './column-type.js'

/**
 * Whole numbers, truth values and floating point.
 *
 * NaN: SQLite turns it into NULL, so a float column is `ANY` and NaN is the text 'NaN'. Text sorts after every number in
 * SQLite and equals itself, which is just how PostgreSQL orders NaN. The infinities are plain REAL.
 */
export const NUMBER_TYPES = {
  int2: integerType('smallint', 2),
  int4: integerType('integer', 4),
  int8: integerType('bigint', 8),
  float4: floatType('real', true),
  float8: floatType('double precision', false),
  bool: boolType(),
}

const MIN_INT8 = -(2n ** 63n)
const MAX_INT8 = 2n ** 63n - 1n

/** @param sizeBytes 2, 4 or 8 */
function integerType(dataType: string, sizeBytes: 2 | 4 | 8): ColumnType {
  const max = 2n ** BigInt(sizeBytes * 8 - 1) - 1n
  const min = -max - 1n
  const expected = `a whole number from ${min} to ${max}${sizeBytes === 8 ? ' (beyond 2^53 as a string of digits)' : ''}`
  const [minNumber, maxNumber] =
    sizeBytes === 8 ? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] : [Number(min), Number(max)]
  return {
    dataType,
    sqlType: 'INTEGER',
    form: 'whole number',
    ...(sizeBytes === 8 ? {} : { check: (column: string) => `${column} BETWEEN ${min} AND ${max}` }),
    lengthUnit: null,
    sortKey: (sql) => sql,
    read(json) {
      if (typeof json === 'number' && Number.isInteger(json) && json >= minNumber && json <= maxNumber)
        return json + 0 // -0 is 0
      const value = typeof json === 'string' ? parseInteger(json) : undefined
      if (value === undefined || value < min || value > max) return { found: describeValue(json), expected }
      return sizeBytes === 8 ? value : Number(value)
    },
    operand: numberOperand,
    print: (stored) => (sizeBytes === 8 ? printInt8(BigInt(stored as bigint)) : Number(stored)),
    // PostgreSQL deparses a plain int4 bare and every other constant with its type
    renderDefault: (_given, stored) =>
      sizeBytes === 4 && Number(stored) >= 0 ? String(stored) : quoteDefault(String(stored), dataType),
  }
}

function floatType(dataType: string, isSingle: boolean): ColumnType {
  const round = (value: number): number => (isSingle ? Math.fround(value) : value)
  const expected = `a number that a ${isSingle ? 'single' : 'double'} precision float can hold, or "NaN", "Infinity", "-Infinity"`
  return {
    dataType,
    sqlType: 'ANY',
    form: `${dataType}; NaN is the text 'NaN'`,
    check: (column) => `typeof(${column}) IN ('real', 'integer', 'null') OR ${column} = 'NaN'`,
    lengthUnit: null,
    sortKey: (sql) => sql,
    read(json) {
      const value = readFloat(json)
      if (typeof value !== 'number') return value ?? { found: describeValue(json), expected }
      const rounded = round(value)
      const isAsked = typeof json === 'string' && !Number.isFinite(value)
      const isLost = !Number.isFinite(rounded) || (rounded === 0 && value !== 0)
      return isLost && !isAsked ? { found: describeValue(json), expected } : rounded
    },
    operand(json) {
      const value = readFloat(json)
      if (typeof value !== 'number') return value ?? { found: describeValue(json), expected }
      const rounded = round(value)
      return Number.isFinite(rounded) ? rounded : value // a bound beyond the type's range still bounds
    },
    print(stored) {
      if (stored === 'NaN') return 'NaN'
      const value = Number(stored)
      if (!Number.isFinite(value)) return String(value)
      return isSingle ? shortestSingle(value) : value
    },
    renderDefault: (_given, stored) => quoteDefault(String(stored), dataType),
  }
}

/** PostgreSQL's spellings of truth, prefixes included. */
function boolType(): ColumnType {
  const read = (json: unknown): Stored | ValueFault => {
    if (typeof json === 'boolean') return json ? 1 : 0
    const text = typeof json === 'string' ? json.trim().toLowerCase() : ''
    if (/^(?:t|tr|tru|true|y|ye|yes|on|1)$/.test(text)) return 1
    if (/^(?:f|fa|fal|fals|false|n|no|of|off|0)$/.test(text)) return 0
    return { found: describeValue(json), expected: 'true or false' }
  }
  return {
    dataType: 'boolean',
    sqlType: 'INTEGER',
    form: '1 is true, 0 is false',
    check: (column) => `${column} IN (0, 1)`,
    lengthUnit: null,
    sortKey: (sql) => sql,
    read,
    operand: read,
    print: (stored) => Number(stored) === 1,
    renderDefault: (_given, stored) => (Number(stored) === 1 ? 'true' : 'false'),
  }
}

/**
 * Whole numbers compare with any number: `int2 < 100000` and `int4 > 1.5` are fair questions. Beyond 2^53 it must come as
 * digits: JSON.parse has made another number of it, and the answer would be that one's. Beyond 2^63 that changes nothing.
 */
function numberOperand(json: unknown): Stored | ValueFault {
  if (typeof json === 'number')
    return Number.isInteger(json) && !Number.isSafeInteger(json) && Math.abs(json) < 2 ** 63
      ? fault(json)
      : json
  const value = typeof json === 'string' ? parseInteger(json) : undefined
  if (value !== undefined) {
    if (value > MAX_INT8) return Number.POSITIVE_INFINITY
    return value < MIN_INT8 ? Number.NEGATIVE_INFINITY : value
  }
  const float = typeof json === 'string' ? readFloat(json) : undefined
  return typeof float === 'number' ? float : fault(json)
}

function fault(json: unknown): ValueFault {
  return {
    found: describeValue(json),
    expected: 'a number, or its digits as a string (beyond 2^53 a string)',
  }
}

/** Bounded before `BigInt` sees it: that takes time with the square of the digits. */
function parseInteger(text: string): bigint | undefined {
  const digits = text.trim()
  return /^[+-]?\d{1,40}$/.test(digits) ? BigInt(digits.replace('+', '')) : undefined
}

/** A number, the text 'NaN', or undefined for what is neither. */
function readFloat(json: unknown): number | 'NaN' | undefined {
  if (typeof json === 'number') return json
  if (typeof json !== 'string') return undefined
  const text = json.trim()
  if (/^nan$/i.test(text)) return 'NaN'
  const infinity = /^([+-]?)inf(?:inity)?$/i.exec(text)
  if (infinity !== null) return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) || text.length > 1000) return undefined
  const value = Number(text)
  const isUnderflow = value === 0 && /^[^e]*[1-9]/i.test(text) // out of range, as PostgreSQL has it
  return Number.isFinite(value) && !isUnderflow ? value : undefined
}

/** A JSON number where it is exact for every reader, digits in a string beyond. */
function printInt8(value: bigint): number | string {
  const isExact = value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
  return isExact ? Number(value) : String(value)
}

/** The shortest decimal that is this float32, as PostgreSQL prints it: 0.1 and not 0.10000000149011612. */
function shortestSingle(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return Number(value.toPrecision(9)) // 9 digits always tell a float32
}
