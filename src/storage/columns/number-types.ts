import { isRawNumber } from '../../json/exact-json.js'
import { describeFound } from '../../messages/fault-text.js'
import { type ColumnType, quoteDefault, type Stored, type ValueFault } from './column-type.js'

/**
 * Integers, booleans and floating-point numbers.
 *
 * NaN is stored as the text 'NaN', because databases store NaN as null or refuse it. It is equal to itself
 * and greater than all numbers, as in PostgreSQL. The infinities are stored as numbers. Zero has no sign: -0
 * is stored as 0, because SQLite keeps no other, and text exports would not either.
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
  const expected = `a whole number from ${min} to ${max}`
  const [minNumber, maxNumber] =
    sizeBytes === 8 ? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] : [Number(min), Number(max)]
  return {
    dataType,
    kind: 'integer',
    form: 'whole number',
    ...(sizeBytes === 8 ? {} : { domain: { min, max } }),
    lengthUnit: null,
    order: 'stored',
    read(json) {
      if (typeof json === 'number' && Number.isInteger(json) && json >= minNumber && json <= maxNumber)
        return json + 0 // -0 is 0
      const value = parseInteger(textOf(json))
      if (value === undefined || value < min || value > max) return { found: describeFound(json), expected }
      return sizeBytes === 8 ? value : Number(value)
    },
    operand: numberOperand,
    print: (stored) => (sizeBytes === 8 ? printInt8(BigInt(stored as bigint)) : Number(stored)),
    // PostgreSQL prints an int4 that is not negative without a type, and every other constant with it
    renderDefault: (_given, stored) =>
      sizeBytes === 4 && Number(stored) >= 0 ? String(stored) : quoteDefault(String(stored), dataType),
  }
}

function floatType(dataType: string, isSingle: boolean): ColumnType {
  const round = (value: number): number => (isSingle ? Math.fround(value) : value)
  const expected = `a number that a ${isSingle ? 'single' : 'double'} precision float can hold, or "NaN", "Infinity", "-Infinity"`
  return {
    dataType,
    kind: 'float',
    form: `${dataType}; NaN is the text 'NaN'`,
    lengthUnit: null,
    order: 'stored',
    read(json) {
      const value = readFloat(json)
      if (typeof value !== 'number') return value ?? { found: describeFound(json), expected }
      const rounded = round(value)
      const isInfinity = typeof json === 'string' && !Number.isFinite(value)
      const isLost = !Number.isFinite(rounded) || (rounded === 0 && value !== 0)
      return isLost && !isInfinity ? { found: describeFound(json), expected } : rounded + 0 // -0 is 0
    },
    operand(json) {
      const value = readFloat(json)
      if (typeof value !== 'number') return value ?? { found: describeFound(json), expected }
      const rounded = round(value)
      return Number.isFinite(rounded) ? rounded : value // a bound beyond the range of the type is still a bound
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

/** Accepts PostgreSQL's spellings of booleans and their prefixes. */
function boolType(): ColumnType {
  const read = (json: unknown): Stored | ValueFault => {
    if (typeof json === 'boolean') return json ? 1 : 0
    const text = typeof json === 'string' ? json.trim().toLowerCase() : ''
    if (/^(?:t|tr|tru|true|y|ye|yes|on|1)$/.test(text)) return 1
    if (/^(?:f|fa|fal|fals|false|n|no|of|off|0)$/.test(text)) return 0
    return { found: describeFound(json), expected: 'true or false' }
  }
  return {
    dataType: 'boolean',
    kind: 'integer',
    form: '1 is true, 0 is false',
    domain: 'boolean',
    lengthUnit: null,
    order: 'stored',
    read,
    operand: read,
    print: (stored) => Number(stored) === 1,
    renderDefault: (_given, stored) => (Number(stored) === 1 ? 'true' : 'false'),
  }
}

/**
 * Reads a number to compare integers with: any number, as in `int2 < 100000` and `int4 > 1.5`. An integer
 * beyond 2^53 must be a string of digits, because `JSON.parse` may have rounded it; beyond 2^63 the rounding
 * changes no result.
 */
function numberOperand(json: unknown): Stored | ValueFault {
  if (typeof json === 'number')
    return Number.isInteger(json) && !Number.isSafeInteger(json) && Math.abs(json) < 2 ** 63
      ? fault(json)
      : json
  const value = parseInteger(textOf(json))
  if (value !== undefined) {
    if (value > MAX_INT8) return Number.POSITIVE_INFINITY
    return value < MIN_INT8 ? Number.NEGATIVE_INFINITY : value
  }
  const float = readFloat(json)
  return typeof float === 'number' ? float : fault(json)
}

function fault(json: unknown): ValueFault {
  return {
    found: describeFound(json),
    expected: 'a number, or its digits as a string',
  }
}

/** Text of a string, and of a number that a double would falsify. */
function textOf(json: unknown): string | undefined {
  if (isRawNumber(json)) return json.rawJSON
  return typeof json === 'string' ? json : undefined
}

/** Limits the number of digits first: `BigInt` takes time quadratic in it. */
function parseInteger(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined
  const digits = text.trim()
  return /^[+-]?\d{1,40}$/.test(digits) ? BigInt(digits.replace('+', '')) : undefined
}

/** Returns a number or the text 'NaN'; undefined for other values. */
function readFloat(json: unknown): number | 'NaN' | undefined {
  if (typeof json === 'number') return json
  const text = textOf(json)?.trim()
  if (text === undefined) return undefined
  if (/^nan$/i.test(text)) return 'NaN'
  const infinity = /^([+-]?)inf(?:inity)?$/i.exec(text)
  if (infinity !== null) return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) || text.length > 1000) return undefined
  const value = Number(text)
  const isUnderflow = value === 0 && /^[^e]*[1-9]/i.test(text) // out of range, as in PostgreSQL
  return Number.isFinite(value) && !isUnderflow ? value : undefined
}

/** Returns a JSON number where every reader gets it exactly, else a string of digits. */
function printInt8(value: bigint): number | string {
  const isExact = value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
  return isExact ? Number(value) : String(value)
}

/**
 * Returns the shortest decimal that rounds to this float32, as PostgreSQL does: 0.1, not 0.10000000149011612.
 */
function shortestSingle(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return Number(value.toPrecision(9)) // 9 digits identify every float32
}
