import { isRawNumber } from '../../json/exact-json.js'
import { describeFound } from '../../messages/fault-text.js'
import { type ColumnType, quoteDefault, type Stored, type ValueFault } from './column-type.js'

/** Most digits of a number, so that `1e999999` costs nothing. PostgreSQL's limit is 131,072. */
export const MAX_DECIMAL_DIGITS = 1000

/**
 * Returns a type of exact decimals, stored as text of their digits. Zeros at the end of the fraction are
 * kept, as in PostgreSQL: `1.50` is read back as `1.50`. A value is a JSON number when a double prints the
 * same text, else a string.
 *
 * @param precision most digits, null for any number
 * @param scale digits of the fraction, to which values are rounded half away from zero; null for any number
 */
export function decimalType(precision: number | null, scale: number | null): ColumnType {
  return {
    dataType: 'numeric',
    kind: 'text',
    form: 'decimal digits',
    lengthUnit: null,
    order: 'decimal',
    read(json) {
      const text = readDecimal(json)
      // NaN and the infinities have no digits to round
      if (typeof text !== 'string' || scale === null || !/\d/.test(text)) return text
      const rounded = roundDecimal(text, scale)
      const whole = rounded.replace(/^-/, '').split('.')[0] as string
      const mostWhole = (precision ?? MAX_DECIMAL_DIGITS) - scale
      if (whole === '0' || whole.length <= mostWhole) return rounded
      return { found: describeFound(json), expected: `at most ${mostWhole} digits before the point` }
    },
    operand: readDecimal,
    print(stored) {
      const value = Number(stored)
      return Number.isFinite(value) && String(value) === stored ? value : stored
    },
    renderDefault: (given) => quoteDefault(given, 'numeric'),
  }
}

/** Removes zeros at the end of the fraction, so that equal numbers have equal texts. For key columns. */
export function plainDecimal(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

/**
 * Returns text that sorts byte by byte as the numbers do: a letter for the sign, the exponent, the digits;
 * exponent and digits of negative numbers are complemented. NaN is the greatest, as in PostgreSQL.
 */
export function decimalSortKey(text: string): string {
  if (text === 'NaN') return 'r'
  if (text === 'Infinity') return 'q'
  if (text === '-Infinity') return 'm'
  const [whole = '', fraction = ''] = text.replace(/^-/, '').split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return 'o'
  const exponent = digits.length - fraction.length // 0.012 has -1
  const significant = digits.replace(/0+$/, '')
  if (!text.startsWith('-')) return `p${exponentKey(exponent)}${significant}`
  return `n${exponentKey(-exponent)}${Array.from(significant, (digit) => 9 - Number(digit)).join('')}~`
}

function exponentKey(exponent: number): string {
  return String(exponent + MAX_DECIMAL_DIGITS * 10).padStart(5, '0')
}

const FORM = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,6}))?$/i

/**
 * Reads a number or a string of digits. A number that a double would falsify has its text; a double that may
 * have been rounded on its way is refused.
 */
function readDecimal(json: unknown): Stored | ValueFault {
  const expected = `a number, or its digits as a string (at most ${MAX_DECIMAL_DIGITS} digits)`
  const text = isRawNumber(json) ? json.rawJSON : json
  const isExact = typeof text === 'number' && (Number.isSafeInteger(text) || Math.trunc(text) !== text)
  if (!isExact && typeof text !== 'string') return { found: describeFound(json), expected }
  return decimalText(String(text).trim()) ?? { found: describeFound(json), expected }
}

function decimalText(text: string): string | undefined {
  if (/^nan$/i.test(text)) return 'NaN'
  const infinity = /^([+-]?)inf(?:inity)?$/i.exec(text)
  if (infinity !== null) return infinity[1] === '-' ? '-Infinity' : 'Infinity'
  const match = FORM.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const shift = Number(exponent)
  if (whole + fraction === '' || whole.length + fraction.length + Math.abs(shift) > MAX_DECIMAL_DIGITS)
    return undefined
  const zeros = '0'.repeat(Math.abs(shift))
  const digits = shift < 0 ? zeros + whole + fraction : whole + fraction + zeros
  const point = whole.length + (shift < 0 ? zeros.length + shift : shift)
  // zeros that only the exponent adds are not digits of the fraction
  const rest = digits.slice(point, shift > 0 ? Math.max(point, whole.length + fraction.length) : undefined)
  return withSign(sign === '-', digits.slice(0, point), rest)
}

function roundDecimal(text: string, scale: number): string {
  const isNegative = text.startsWith('-')
  const [whole = '', fraction = ''] = text.replace(/^-/, '').split('.')
  const kept = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'))
  const isUp = (fraction[scale] ?? '0') >= '5'
  const digits = String(isUp ? kept + 1n : kept).padStart(scale + 1, '0')
  return withSign(isNegative, digits.slice(0, digits.length - scale), digits.slice(digits.length - scale))
}

/** Joins the parts without leading zeros, and without a minus sign before zero. */
function withSign(isNegative: boolean, whole: string, fraction: string): string {
  const text = `${whole.replace(/^0+(?=\d)/, '') || '0'}${fraction === '' ? '' : `.${fraction}`}`
  return isNegative && /[1-9]/.test(text) ? `-${text}` : text
}
