import { fill, h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { badge, faultNotice, field, select, table } from '../core/parts.js'
import { cellText } from '../grid/cell-text.js'
import { type CitationInfo, type Row, readRows } from './read.js'

/** Most rows of each citation that are compared, which a browser can hold in memory. */
const MOST_ROWS = 20_000
/** Most differences that are shown. */
const MOST_SHOWN = 200

/** Form that compares two citations: added, removed and changed rows. */
export function compareForm(citations: readonly CitationInfo[]): HTMLElement {
  const names = citations.map(({ long_form }) => [long_form, long_form] as const)
  const [a, b] = [select(names, names[1]?.[0]), select(names, names[0]?.[0])]
  const key = h('input', { placeholder: 'id' })
  const result = h('div', { class: 'stack', 'aria-live': 'polite' })
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      const [before, after] = await Promise.all([
        readRows(a.value, 0, MOST_ROWS),
        readRows(b.value, 0, MOST_ROWS),
      ])
      fill(result, difference(before, after, key.value.trim()))
    } catch (error) {
      fill(result, faultNotice(error))
    }
  }
  return h(
    'form',
    { class: 'stack', onsubmit },
    h(
      'div',
      { class: 'grid wide' },
      field(t('compareA'), a),
      field(t('compareB'), b),
      field(t('compareKey'), key),
    ),
    h('div', {}, h('button', { class: 'button main', disabled: names.length < 2 }, t('compareRun'))),
    result,
  )
}

/** @param key columns that identify a row, separated by commas; empty for the first column */
function difference(before: readonly Row[], after: readonly Row[], key: string): HTMLElement[] {
  const names = Object.keys(before[0] ?? after[0] ?? {})
  const keys = key === '' ? names.slice(0, 1) : key.split(',').map((name) => name.trim())
  const keyOf = (row: Row) => JSON.stringify(keys.map((name) => row[name]))
  const old = new Map(before.map((row) => [keyOf(row), row]))
  const fresh = new Map(after.map((row) => [keyOf(row), row]))
  const isSame = (x: Row, y: Row) => JSON.stringify(x) === JSON.stringify(y)
  const added = after.filter((row) => !old.has(keyOf(row)))
  const removed = before.filter((row) => !fresh.has(keyOf(row)))
  const changed = after.filter((row) => {
    const was = old.get(keyOf(row))
    return was !== undefined && !isSame(was, row)
  })
  const same = after.length - added.length - changed.length
  const counts = { added: added.length, removed: removed.length, changed: changed.length, same }
  const texts = Object.fromEntries(Object.entries(counts).map(([name, n]) => [name, formatNumber(n)]))
  const isCut = before.length === MOST_ROWS || after.length === MOST_ROWS
  const rows = [
    ...removed.map((row) => [badge(t('removed'), 'bad'), ...names.map((name) => cellText(row[name]))]),
    ...added.map((row) => [badge(t('added'), 'good'), ...names.map((name) => cellText(row[name]))]),
    ...changed.map((row) => [
      badge(t('changed'), 'warn'),
      ...names.map((name) => changeText(old.get(keyOf(row))?.[name], row[name])),
    ]),
  ]
  const none = counts.added + counts.removed + counts.changed === 0
  return [
    h('p', {}, none ? t('compareSame', { n: formatNumber(same) }) : t('compareResult', texts)),
    ...(isCut ? [h('p', { class: 'notice warn' }, t('compareCut', { n: formatNumber(MOST_ROWS) }))] : []),
    ...(none ? [] : [table(t('compare'), ['', ...names], rows.slice(0, MOST_SHOWN))]),
  ]
}

function changeText(was: unknown, is: unknown): string {
  const [before, after] = [cellText(was), cellText(is)]
  return before === after ? after : `${before} → ${after}`
}
