import { h } from '../../core/dom.js'
import { formatNumber, formatTime, t } from '../../core/i18n.js'
import { facts } from '../../core/parts.js'
import type { RecordOfMap } from '../map-view.js'

/** Content of the popup of a record: its table as the title, its times, and its columns in words. */
export function recordContent({ table, properties }: RecordOfMap): HTMLElement {
  const { start_datetime, end_datetime, ...columns } = properties
  const times: [string, string][] = []
  if (start_datetime != null) times.push([t('startTime'), timeText(start_datetime)])
  if (end_datetime != null) times.push([t('endTime'), timeText(end_datetime)])
  const rows = Object.entries(columns)
    .filter(([name, value]) => name !== 'table' && value !== null)
    .map(([name, value]) => [labelOf(name), valueText(value)] as [string, string])
  return h('div', { class: 'record' }, h('h3', {}, table), facts([...rows, ...times]))
}

/** Name of a column in words: `water_level_m` is `water level m`. */
export function labelOf(column: string): string {
  const words = column.replace(/_+/g, ' ').trim()
  return words === '' ? column : words.charAt(0).toUpperCase() + words.slice(1)
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/

function valueText(value: unknown): string {
  if (typeof value === 'number') return formatNumber(value, 6)
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no')
  if (typeof value === 'string') return ISO_TIME.test(value) ? timeText(value) : value
  return JSON.stringify(value)
}

/** `infinity` and the like stay as they are. */
function timeText(value: unknown): string {
  return formatTime(String(value))
}
