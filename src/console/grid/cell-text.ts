import { formatTime } from '../core/i18n.js'

/** Text of a value in a table cell. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'object') {
    if ('val' in value) return formatTime(String(value.val))
    return JSON.stringify(value)
  }
  return String(value)
}
