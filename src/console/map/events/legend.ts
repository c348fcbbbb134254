import { h } from '../../core/dom.js'
import { formatNumber, t } from '../../core/i18n.js'
import type { Colouring } from './colours.js'

/** Digits of the numbers of a legend. */
const DIGITS = 2

/** List items of the colours of records. */
export function legendItems({ legend }: Colouring): HTMLElement[] {
  return legend.map(({ colour, text }) => {
    const swatch = h('span', { class: 'swatch' })
    swatch.style.background = colour
    return h('li', {}, swatch, textOf(text))
  })
}

function textOf(text: Colouring['legend'][number]['text']): string {
  if (text === 'others') return t('legendOthers')
  if ('value' in text) return text.value
  return `${formatNumber(text.from, DIGITS)}–${formatNumber(text.to, DIGITS)}`
}
