import { EN, type Words } from '../words/en.js'
import { JA } from '../words/ja.js'
import { momentText } from './moment.js'
import { reasonParts, type Said } from './reason.js'
import { currentSettings } from './settings.js'
import { joinSentences, withValues } from './with-values.js'

/** Key of a text. */
export type Word = keyof Words

/** Text in the current language, with its values. */
export function t(word: Word, values: Record<string, string | number> = {}): string {
  return withValues((currentSettings().language === 'ja' ? JA : EN)[word], values)
}

/** Sentences as one text in the current language. */
export function sentences(...texts: string[]): string {
  return joinSentences(texts, currentSettings().language)
}

/** @param digits most digits after the decimal point */
export function formatNumber(value: number, digits = 0): string {
  return new Intl.NumberFormat(currentSettings().language, { maximumFractionDigits: digits }).format(value)
}

/** Formats a time of the gateway for the current language; `–` when there is none. */
export function formatTime(value: string | number | { val: string } | null | undefined): string {
  if (value === null || value === undefined) return '–'
  const date = new Date(typeof value === 'object' ? value.val : value)
  if (Number.isNaN(date.getTime())) return String(typeof value === 'object' ? value.val : value)
  return momentText(date, currentSettings().language)
}

/** Reason of a failed attempt; an empty text for none. */
export function reasonSaid(reason: string | null): Said {
  return reasonParts(reason ?? '', currentSettings().language)
}

/** `1.5 MB`, with powers of 1000; `–` for null. */
export function formatBytes(bytes: number | null): string {
  if (bytes === null) return '–'
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${formatNumber(bytes / 1000 ** power, power === 0 ? 0 : 1)} ${units[power]}`
}

/** `1 h 05 min`. */
export function formatHours(hours: number): string {
  const minutes = Math.round(hours * 60)
  if (minutes < 1) return t('secondsShort', { n: Math.round(hours * 3600) })
  if (minutes < 60) return t('minutesShort', { n: minutes })
  if (minutes > 60 * 24 * 4) return t('hoursShort', { n: formatNumber(hours) })
  return t('hoursMinutes', { n: Math.floor(minutes / 60), m: String(minutes % 60).padStart(2, '0') })
}

/** `850 m` or `1.2 km`. */
export function formatMetres(metres: number): string {
  return metres < 1000 ? `${formatNumber(metres)} m` : `${formatNumber(metres / 1000, 1)} km`
}
