import { EN, type Words } from '../words/en.js'
import { JA } from '../words/ja.js'
import { currentSettings } from './settings.js'

export type Word = keyof Words

/** A word in the language of the page; `{name}` in it is replaced. */
export function t(word: Word, values: Record<string, string | number> = {}): string {
  const text: string = (currentSettings().language === 'ja' ? JA : EN)[word]
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}

export function formatNumber(value: number, digits = 0): string {
  return new Intl.NumberFormat(currentSettings().language, { maximumFractionDigits: digits }).format(value)
}

/** A moment of the gateway as people of this place write it. */
export function formatTime(value: string | number | { val: string } | null | undefined): string {
  if (value === null || value === undefined) return '–'
  const date = new Date(typeof value === 'object' ? value.val : value)
  if (Number.isNaN(date.getTime())) return String(typeof value === 'object' ? value.val : value)
  return new Intl.DateTimeFormat(currentSettings().language, {
    dateStyle: 'medium',
    timeStyle: 'short',
  }).format(date)
}

export function formatBytes(bytes: number | null): string {
  if (bytes === null) return '–'
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${formatNumber(bytes / 1000 ** power, power === 0 ? 0 : 1)} ${units[power]}`
}

/** Hours as 1 h 05 min. */
export function formatHours(hours: number): string {
  const minutes = Math.round(hours * 60)
  if (minutes < 1) return `${Math.round(hours * 3600)} s`
  if (minutes < 60) return `${minutes} min`
  if (minutes > 60 * 24 * 4) return `${formatNumber(hours)} h`
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`
}

export function formatMetres(metres: number): string {
  return metres < 1000 ? `${formatNumber(metres)} m` : `${formatNumber(metres / 1000, 1)} km`
}
