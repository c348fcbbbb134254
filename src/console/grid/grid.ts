import { fill, h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { liveTables } from '../core/live.js'
import { button, confirmed, faultNotice, loadingBones, statusLine } from '../core/parts.js'
import { isFault } from '../core/rpc.js'
import { exportButtons } from './export.js'
import { filterBar } from './filters.js'
import { gridMap } from './grid-map.js'
import { rowTable } from './row-table.js'
import type { GridRow, GridSource } from './source.js'
import { addressOf, condsOf, type GridState, stateOfAddress } from './state.js'

const PAGE_ROWS = 50

/**
 * Rows with totals, sorting, filters, export and a map. What is shown is kept in the address.
 *
 * @param sort order to begin with
 * @param follows name of the table whose changes are shown as they come
 */
export function grid(source: GridSource, { sort = '', follows }: { sort?: string; follows?: string } = {}) {
  let state = stateOfAddress(location.hash, sort)
  const status = statusLine()
  const rowsBox = h('div', { class: 'stack' })
  const total = h('span', { class: 'soft small', role: 'status' })
  const map = gridMap((position) => rows?.choose(position))
  let rows: ReturnType<typeof rowTable> | undefined
  let turn = 0
  const conds = () => condsOf(state.filters, source.columns)
  const change = (next: Partial<GridState>) => {
    state = { ...state, ...next }
    history.replaceState(null, '', addressOf(location.hash, state))
    bar.show(state)
    void show()
  }
  const bar = filterBar(source.columns, state, change)
  const show = async () => {
    turn++
    const mine = turn
    if (rows === undefined) fill(rowsBox, loadingBones())
    try {
      const query = { sort: state.sort, conds: conds(), offset: state.offset, limit: PAGE_ROWS }
      const [found, count] = await Promise.all([source.read(query), countOf(source, query.conds)])
      if (mine === turn) showRows(found, count)
    } catch (error) {
      if (mine !== turn) return
      rows = undefined
      const again = () => void show()
      fill(rowsBox, faultNotice(error, again))
    }
  }
  const showRows = (found: readonly GridRow[], count: number | undefined) => {
    rows = rowTable(source, found, {
      sort: state.sort,
      onSort: (next) => change({ sort: next, offset: 0 }),
      onChosen: (positions) => map.select(positions),
      onRemove: (row) => void removeRow(source, row, status, () => void show()),
      onSaved: () => void show(),
    })
    total.textContent = count === undefined ? '' : t('gridTotal', { n: formatNumber(count) })
    const page = { shown: found.length, count, size: PAGE_ROWS }
    fill(
      rowsBox,
      rows.element,
      pageBar(state.offset, page, (offset) => change({ offset })),
    )
    map.show(found)
  }
  bar.show(state)
  void show()
  const exports = exportButtons(source, () => ({ conds: conds(), sort: state.sort }), status)
  const head = h('div', { class: 'row spread' }, total, exports)
  const body = h('div', { class: 'preview' }, rowsBox, map.element)
  const element = h('div', { class: 'stack' }, bar.element, head, status.element, body)
  if (follows !== undefined) follow(element, follows, () => void show())
  return element
}

/** Number of rows; undefined for a key without the right to count, which sees the rows alone. */
async function countOf(source: GridSource, conds: object | undefined): Promise<number | undefined> {
  try {
    return await source.count(conds)
  } catch (error) {
    if (isFault(error) && error.faultName === 'FORBIDDEN') return undefined
    throw error
  }
}

/** Removes the rows with the values of one, after a question that tells their number. */
async function removeRow(
  source: GridSource,
  row: GridRow,
  status: ReturnType<typeof statusLine>,
  onDone: () => void,
): Promise<void> {
  const condition = sameRow(row, source)
  try {
    const n = await source.count(condition)
    if (!(await confirmed(t('gridRemoveSure', { n }), t('remove')))) return
    status.good(t('gridRemoved', { n: (await source.remove?.(condition)) ?? 0 }))
    onDone()
  } catch (error) {
    status.bad(error)
  }
}

/** Shows changes of a table while its rows are shown. */
function follow(element: HTMLElement, table: string, refresh: () => void): void {
  let isPut = false // the element is put into the page after this
  const isShown = () => {
    isPut ||= element.isConnected
    return !isPut || element.isConnected
  }
  liveTables(isShown, refresh).follow([table])
}

/** Condition that a row matches by all of its values. */
function sameRow({ values }: GridRow, { columns }: GridSource): object {
  const conds = columns
    .filter(({ isComparable }) => isComparable)
    .map(({ name }) => {
      const value = values[name]
      if (value === null || value === undefined) return { is_null: [name] }
      return { '=': [name, typeof value === 'object' && 'val' in value ? value.val : value] }
    })
  return { and: conds }
}

/** Buttons for pages, and a field that goes to any row. */
function pageBar(
  offset: number,
  { shown, count, size }: { shown: number; count: number | undefined; size: number },
  go: (offset: number) => void,
): HTMLElement {
  const isLast = count === undefined ? shown < size : offset + shown >= count
  const input = h('input', {
    ...{ type: 'number', min: 1, class: 'short', 'aria-label': t('gridGoTo'), placeholder: t('gridGoTo') },
    ...(count === undefined ? {} : { max: Math.max(1, count) }),
  })
  const onsubmit = (event: Event) => {
    event.preventDefault()
    if (input.value !== '') go(Math.max(0, Number(input.value) - 1))
  }
  const last = () => go(Math.max(0, Math.floor(((count ?? 1) - 1) / size) * size))
  return h(
    'form',
    { class: 'row', onsubmit },
    button(t('first'), () => go(0), 'small', { disabled: offset === 0 }),
    button(t('previous'), () => go(Math.max(0, offset - size)), 'small', { disabled: offset === 0 }),
    button(t('next'), () => go(offset + size), 'small', { disabled: isLast }),
    count !== undefined && button(t('last'), last, 'small', { disabled: isLast }),
    shown > 0 &&
      h(
        'span',
        { class: 'soft small' },
        t('rowsFromTo', { from: formatNumber(offset + 1), to: formatNumber(offset + shown) }),
      ),
    input,
    h('button', { class: 'button small' }, t('gridGo')),
    button(t('refresh'), () => go(offset), 'small plain'),
  )
}
