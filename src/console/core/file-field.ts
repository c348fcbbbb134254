import { h } from './dom.js'
import { t } from './i18n.js'
import { field } from './parts.js'

/**
 * A file input with its label. The browser's own button and text are in the language of the browser; these are in that
 * of the page. The input lies over them, so that clicks, dropped files and the keyboard reach it.
 */
export function fileField(label: string, input: HTMLInputElement, hint?: string): HTMLElement {
  const element = field(label, input, hint)
  const name = h('span', { class: 'file-name' })
  const refresh = () => {
    name.textContent = [...(input.files ?? [])].map((file) => file.name).join(', ') || t('noFile')
  }
  const box = h('div', { class: 'file-choice' })
  input.replaceWith(box)
  box.append(h('span', { class: 'button', 'aria-hidden': 'true' }, t('chooseFile')), name, input)
  input.addEventListener('change', refresh)
  refresh()
  return element
}
