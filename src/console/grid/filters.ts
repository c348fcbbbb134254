import { fill, h } from '../core/dom.js'
import { t, type Word } from '../core/i18n.js'
import { button, field, select } from '../core/parts.js'
import { type Filter, type GridColumn, type GridState, OPERATORS, type Operator } from './state.js'

const WORDS: Partial<Record<Operator, Word>> = {
  contains: 'opContains',
  empty: 'opEmpty',
  filled: 'opFilled',
}

function operatorText(operator: Operator): string {
  const word = WORDS[operator]
  return word === undefined ? operator : t(word)
}

/** Filters that are set, and a form that adds one. @param change called with what is to be shown */
export function filterBar(
  columns: readonly GridColumn[],
  first: GridState,
  change: (next: Partial<GridState>) => void,
) {
  let state = first
  const usable = columns.filter(({ isComparable }) => isComparable)
  const column = select(usable.map(({ name }) => [name, name] as const))
  const operator = select(OPERATORS.map((each) => [each, operatorText(each)] as const))
  const value = h('input', { name: 'filter-value', autocomplete: 'off' })
  const valueField = field(t('gridValue'), value)
  operator.addEventListener('change', () => {
    valueField.hidden = operator.value === 'empty' || operator.value === 'filled'
  })
  const onsubmit = (event: Event) => {
    event.preventDefault()
    const chosen = OPERATORS.find((each) => each === operator.value) ?? '='
    const filter: Filter = { column: column.value, operator: chosen, value: value.value }
    change({ filters: [...state.filters, filter], offset: 0 })
    value.value = ''
  }
  const set = h('div', { class: 'row' })
  const form = h(
    'form',
    { class: 'row end filter-form', onsubmit },
    field(t('column'), column),
    field(t('gridOperator'), operator),
    valueField,
    h('button', { class: 'button' }, t('gridFilter')),
  )
  return {
    element: h('div', { class: 'stack tight' }, usable.length > 0 && form, set),
    show(next: GridState) {
      state = next
      fill(
        set,
        next.filters.map((filter) =>
          chip(filter, () => change({ filters: next.filters.filter((each) => each !== filter), offset: 0 })),
        ),
        next.filters.length > 1 &&
          button(t('gridClear'), () => change({ filters: [], offset: 0 }), 'small plain'),
      )
    },
  }
}

/** A filter that is set, with a button that takes it away. */
function chip({ column, operator, value }: Filter, remove: () => void): HTMLElement {
  const hasValue = operator !== 'empty' && operator !== 'filled'
  const text = [column, operatorText(operator), ...(hasValue ? [value] : [])].join(' ')
  return h(
    'span',
    { class: 'chip' },
    text,
    button('×', remove, 'small plain', { 'aria-label': t('gridRemoveFilter', { text }) }),
  )
}
