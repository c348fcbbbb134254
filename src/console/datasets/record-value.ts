import type { DatasetColumn } from '../grid/source.js'

/** Text of a value in an input. */
export function editText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return String(value)
  return isMoment(value) ? value.val : JSON.stringify(value)
}

/** Value as `dataset.record.put` takes it, of one that was read. */
export function putValue(value: unknown): unknown {
  return typeof value === 'object' && value !== null && isMoment(value) ? value.val : (value ?? null)
}

/**
 * Value of a text that was typed, in the JSON type of its column. Text that does not fit is sent as it is: the
 * gateway refuses it with a reason.
 */
export function changedValue(
  { data_type, nullable }: Pick<DatasetColumn, 'data_type' | 'nullable'>,
  text: string,
): unknown {
  if (text === '' && nullable) return null
  if (data_type === 'boolean' && /^(true|false)$/i.test(text.trim())) return /^true$/i.test(text.trim())
  if (/^(smallint|integer|bigint|real|double)/.test(data_type) && text.trim() !== '') {
    const number = Number(text)
    // a larger integer stays a text: a double would round it
    const isExact = Number.isSafeInteger(number) || !Number.isInteger(number)
    return Number.isFinite(number) && isExact ? number : text
  }
  return text
}

function isMoment(value: object): value is { val: string } {
  return 'val' in value && '_type' in value && typeof value.val === 'string'
}
