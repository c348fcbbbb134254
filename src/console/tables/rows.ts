import { fill, h } from '../core/dom.js'
import { formatTime, t } from '../core/i18n.js'
import { liveTables } from '../core/live.js'
import { button, loaded, table } from '../core/parts.js'
import { type EventFeature, readEvents, type TableInfo } from '../core/tables.js'

const PAGE_ROWS = 50
const GEOMETRY_CHARS = 60

/** Records of a table, newest first, in pages. The page that is shown follows the table. */
export function rowsView({ data_name, record_def }: TableInfo): HTMLElement {
  const box = h('div', { class: 'stack' })
  let shown = 0
  const show = (offset: number) => {
    shown = offset
    fill(
      box,
      loaded(() => readPage(offset)),
    )
  }
  const refresh = async () => {
    const offset = shown
    const page = await readPage(offset).catch(() => undefined) // the next change tries again
    if (page !== undefined && offset === shown && box.isConnected) fill(box, page)
  }
  const readPage = async (offset: number) => {
    const order = '-start_datetime'
    const rows = await readEvents({ table: data_name, order, offset, limit: PAGE_ROWS })
    const names = Object.keys(record_def).filter(
      (name) => rows[0] === undefined || name in rows[0].properties,
    )
    return [
      table(
        t('tabRows'),
        [...names, t('geometry')],
        rows.map((row) => [...names.map((name) => cellText(row.properties[name])), geometryText(row)]),
      ),
      pager(offset, rows.length, PAGE_ROWS, show),
    ]
  }
  show(0)
  // the box is put into the page after this
  let isPut = false
  const isShown = () => {
    isPut ||= box.isConnected
    return !isPut || box.isConnected
  }
  liveTables(isShown, () => void refresh()).follow([data_name])
  return box
}

/** Buttons for the previous and the next page. */
export function pager(
  offset: number,
  count: number,
  size: number,
  show: (offset: number) => void,
): HTMLElement {
  return h(
    'div',
    { class: 'row' },
    button(t('previous'), () => show(Math.max(0, offset - size)), 'small', { disabled: offset === 0 }),
    button(t('next'), () => show(offset + size), 'small', { disabled: count < size }),
    count > 0 &&
      h('span', { class: 'soft small' }, t('rowsFromTo', { from: offset + 1, to: offset + count })),
    button(t('refresh'), () => show(offset), 'small plain'),
  )
}

/** Text of a value in a table cell. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'object') {
    if ('val' in value) return formatTime(String(value.val))
    return JSON.stringify(value)
  }
  return String(value)
}

function geometryText({ geometry }: EventFeature): string {
  if (geometry === null) return ''
  if (geometry.type === 'Point')
    return geometry.coordinates.map((each) => Math.round(each * 1e6) / 1e6).join(', ')
  const text = JSON.stringify(geometry)
  return text.length > GEOMETRY_CHARS ? `${text.slice(0, GEOMETRY_CHARS)}…` : text
}
