import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, checkbox, field } from '../core/parts.js'
import { FEW, someOf } from './some-of.js'

interface Choice {
  /** names in their order */
  readonly names: readonly string[]
  /** label of the filter */
  readonly label: string
  isChosen(name: string): boolean
  choose(name: string, isOn: boolean): void
  /** colour beside a name */
  colourOf?(name: string): string
}

/**
 * Checkboxes of tables. Of many, the chosen ones and a few others are shown, with a filter and a button for
 * the rest.
 */
export function chooseTables({ names, label, isChosen, choose, colourOf }: Choice): HTMLElement {
  const filter = h('input', {
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: () => show(),
  })
  const list = h('div', { class: 'choose-tables' })
  const more = h('div', { class: 'row' })
  let isWhole = false
  const box = (name: string) => {
    const element = checkbox(name, {
      checked: isChosen(name),
      onchange: (event: Event) => choose(name, (event.target as HTMLInputElement).checked),
    })
    const colour = colourOf?.(name)
    if (colour !== undefined) {
      const swatch = h('span', { class: 'swatch' })
      swatch.style.background = colour
      element.insertBefore(swatch, element.lastChild)
    }
    return element
  }
  const show = () => {
    const { shown, hidden } = someOf(names, filter.value, isChosen, isWhole)
    fill(
      list,
      shown.map(box),
      names.length > 0 && shown.length === 0 && h('p', { class: 'soft small' }, t('noneMatch')),
    )
    fill(more, hidden > 0 && button(t('showMore', { n: hidden }), showAll, 'small plain'))
  }
  const showAll = () => {
    isWhole = true
    show()
    list.querySelector('input')?.focus()
  }
  show()
  return h('div', { class: 'stack tight' }, names.length > FEW && field(label, filter), list, more)
}
