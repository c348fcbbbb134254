import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, facts, field, statusLine } from '../core/parts.js'

/** Input of a form for a row. */
export interface EditField {
  readonly label: string
  readonly input: HTMLInputElement
  readonly hint: string
}

/** Content and actions of a form for a row. */
interface EditDialog {
  /** values that stay as they are */
  readonly key: readonly (readonly [name: string, text: string])[]
  readonly fields: readonly EditField[]
  /** Stores the row. @throws CallFault, SyntaxError for a value that is no JSON: the form stays open */
  save(): Promise<void>
  onSaved(): void
}

/** Opens a form with the values of a row. Escape and Cancel close it and change nothing. */
export function editDialog({ key, fields, save, onSaved }: EditDialog): void {
  const status = statusLine()
  const dialog = h('dialog', { 'aria-label': t('edit'), onclose: () => dialog.remove() })
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    try {
      await save()
      dialog.close()
      onSaved()
    } catch (error) {
      status.bad(error)
    }
  }
  fill(
    dialog,
    h(
      'form',
      { class: 'stack', onsubmit },
      h('h2', {}, t('edit')),
      facts(key),
      h(
        'div',
        { class: 'grid' },
        fields.map(({ label, input, hint }) => field(label, input, hint)),
      ),
      status.element,
      h(
        'div',
        { class: 'row' },
        h('button', { class: 'button main' }, t('save')),
        button(t('cancel'), () => dialog.close()),
      ),
    ),
  )
  document.body.append(dialog)
  dialog.showModal()
}
