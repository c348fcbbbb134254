import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { localText, readPoint } from '../core/inputs.js'
import { field, statusLine } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { ColumnInfo, TableInfo } from '../core/tables.js'
import type { Counters } from '../import/send.js'

/** Columns with an input of their own. */
const OWN = new Set(['location', 'start_datetime', 'end_datetime'])

/** Form that adds one record, with an input for each column. */
export function recordForm({ data_name, record_def }: TableInfo): HTMLElement {
  const columns = Object.entries(record_def)
    .filter(([name]) => !OWN.has(name))
    .sort(([, a], [, b]) => a.position - b.position)
    .map(([name, column]) => ({ name, column, input: inputOf(column) }))
  const start = h('input', { type: 'datetime-local', step: 1, value: localText(Date.now()) })
  const end = h('input', { type: 'datetime-local', step: 1 })
  const geometry = h('input', { placeholder: '139.70, 35.68' })
  const status = statusLine()
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      const properties = {
        start_datetime: timeOf(start.value),
        end_datetime: timeOf(end.value),
        ...valuesOf(columns),
      }
      const record = { type: 'Feature', geometry: geometryOf(geometry.value), properties }
      const done = await call<Counters>('loaderwebapi.add_record', { data_name, record_set: [record] })
      status.good(
        t('recordAdded', {
          n: done.count_insert,
          m: done.count_update,
          k: done.count_duplicate - done.count_update,
        }),
      )
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'form',
    { class: 'card', onsubmit },
    h(
      'div',
      { class: 'grid' },
      field(t('startTime'), start),
      field(t('endTime'), end, t('endTimeHint')),
      field(t('geometry'), geometry, t('geometryHint')),
      columns.map(({ name, column, input }) => field(name, input, column.data_type)),
    ),
    status.element,
    h('div', {}, h('button', { class: 'button main' }, t('save'))),
  )
}

/** Time of an input of type `datetime-local`; null for an empty one. */
function timeOf(text: string): string | null {
  return text === '' ? null : new Date(text).toISOString()
}

/** Values of the inputs that are filled in, by column. */
function valuesOf(
  columns: readonly { name: string; column: ColumnInfo; input: HTMLInputElement }[],
): Record<string, unknown> {
  const filled = columns.filter(({ input }) => input.value !== '')
  return Object.fromEntries(filled.map(({ name, column, input }) => [name, typedValue(column, input.value)]))
}

function inputOf({ udt_name, is_nullable, column_default }: ColumnInfo): HTMLInputElement {
  const isNumber = /^(int[248]|float[48])$/.test(udt_name)
  return h('input', {
    required: is_nullable === 'NO' && column_default === null,
    ...(isNumber ? { inputmode: 'decimal' } : {}),
  })
}

/**
 * Value of an input in the JSON type of its column. Text that does not fit is sent as it is: the gateway
 * refuses it with a reason.
 */
export function typedValue({ udt_name }: ColumnInfo, text: string): unknown {
  if (/^(int[24]|float[48])$/.test(udt_name)) return Number.isNaN(Number(text)) ? text : Number(text)
  if (udt_name === 'bool') return /^(true|t|1|yes)$/i.test(text)
  return text
}

/** @throws SyntaxError for text that is neither a point nor JSON */
export function geometryOf(text: string): unknown {
  if (text.trim() === '') return null
  const point = readPoint(text)
  return point === undefined ? JSON.parse(text) : { type: 'Point', coordinates: point }
}
