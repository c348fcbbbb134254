import { type Child, fill, freshId, h } from './dom.js'
import { faultParts, faultText } from './fault-text.js'
import { reasonSaid, t } from './i18n.js'
import type { Said } from './reason.js'

/** An input with its label; screen readers read the hint as its description. */
export function field(label: string, input: HTMLElement, hint?: string): HTMLElement {
  const id = input.id === '' ? freshId('f') : input.id
  input.id = id
  if (hint !== undefined) input.setAttribute('aria-describedby', `${id}-hint`)
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    input,
    hint !== undefined && h('span', { class: 'hint', id: `${id}-hint` }, hint),
  )
}

/** Gives a field of a narrow grid the whole width. */
export function whole(element: HTMLElement): HTMLElement {
  element.classList.add('whole')
  return element
}

/** A drop-down list. */
export function select(
  options: readonly (readonly [value: string, label: string])[],
  value = '',
): HTMLSelectElement {
  return h(
    'select',
    {},
    options.map(([each, label]) => h('option', { value: each, selected: each === value }, label)),
  )
}

/** A checkbox with its label. */
export function checkbox(label: string, props: Record<string, unknown> = {}): HTMLLabelElement {
  return h('label', { class: 'check' }, h('input', { type: 'checkbox', ...props }), label)
}

/** True when the checkbox inside a label of `checkbox` is checked. */
export function isChecked(label: HTMLElement | undefined): boolean {
  return label?.querySelector('input')?.checked === true
}

/** A button that does not submit a form. @param kind classes, such as `main`, `small`, `bad` */
export function button(label: string, act: () => unknown, kind = '', props: Record<string, unknown> = {}) {
  return h('button', { type: 'button', class: `button ${kind}`, onclick: act, ...props }, label)
}

/** A short state in a coloured frame. @param kind `good`, `warn`, `bad` or `accent` */
export function badge(text: string, kind = ''): HTMLElement {
  return h('span', { class: `badge ${kind}` }, text)
}

/** Text in place of an empty list. */
export function empty(text: string): HTMLElement {
  return h('p', { class: 'empty' }, text)
}

/** Text in place of what an address names and does not exist, with a link to a page that does. */
export function notFound(text: string, href: string, label: string): HTMLElement {
  return h('div', { class: 'empty stack tight' }, h('p', {}, text), h('p', {}, h('a', { href }, label)))
}

/** A list of terms with their values. */
export function facts(pairs: readonly (readonly [string, Child])[]): HTMLElement {
  return h(
    'dl',
    { class: 'facts' },
    pairs.flatMap(([term, value]) => [h('dt', {}, term), h('dd', {}, value)]),
  )
}

/** Text of a cell that wraps instead of being cut. */
export function prose(...text: Child[]): HTMLElement {
  return h('span', { class: 'prose' }, text)
}

/** Reason of a failed attempt; empty for none. */
export function reasonNote(reason: string | null): HTMLElement {
  return prose(...withDetail(reasonSaid(reason)))
}

/** A text, with English words of the gateway below it. */
function withDetail({ text, detail }: Said): Child[] {
  return [text, detailLine(detail)]
}

/** English words of the gateway as a line of its own. */
export function detailLine(detail: string | undefined): Child {
  return detail !== undefined && h('span', { class: 'detail', lang: 'en' }, detail)
}

/** A table that scrolls inside its frame, also with the keyboard. */
export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly Child[])[],
  emptyText = t('noRows'),
): HTMLElement {
  if (rows.length === 0) return empty(emptyText)
  // explicit roles: narrow pages show rows as cards by CSS, and browsers then drop the table roles
  const cell = (content: Child, at: number) =>
    h(
      'td',
      { role: 'cell', title: typeof content === 'string' ? content : undefined, 'data-label': head[at] },
      content,
    )
  return h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      { role: 'table' },
      h('caption', { class: 'hidden-text' }, caption),
      h(
        'thead',
        { role: 'rowgroup' },
        h(
          'tr',
          { role: 'row' },
          head.map((text) => h('th', { scope: 'col', role: 'columnheader' }, text)),
        ),
      ),
      h(
        'tbody',
        { role: 'rowgroup' },
        rows.map((cells) => h('tr', { role: 'row' }, cells.map(cell))),
      ),
    ),
  )
}

/** Notice with the text of an error, and a button that retries when `again` is given. */
export function faultNotice(error: unknown, again?: () => unknown): HTMLElement {
  return h(
    'div',
    { class: 'notice bad', role: 'alert' },
    h('p', {}, withDetail(faultParts(error))),
    again !== undefined && button(t('tryAgain'), again, 'small'),
  )
}

/**
 * Shows the fault of a page that reads again by itself, once: a screen reader reads each notice that is new.
 *
 * @param shown what the page shows, from the call before
 * @returns what it shows now
 */
export function showFault(box: Element, error: unknown, shown: string, again: () => unknown): string {
  const now = `fault: ${faultText(error)}`
  if (now !== shown) fill(box, faultNotice(error, again))
  return now
}

/** Status line of a form; screen readers read it when it changes. */
export function statusLine() {
  const element = h('p', { class: 'notice', role: 'status' })
  const say = (content: Child | readonly Child[], kind = '') => {
    element.className = `notice ${kind}`
    element.setAttribute('role', kind === 'bad' ? 'alert' : 'status')
    fill(element, ...[content].flat())
  }
  return {
    element,
    say,
    good: (text: string) => say(text, 'good'),
    bad: (error: unknown) => say(typeof error === 'string' ? error : withDetail(faultParts(error)), 'bad'),
  }
}

/** Shows a placeholder while `read` runs, then its elements, or the error with a button that retries. */
export function loaded(read: () => Promise<Child | Child[]>): HTMLElement {
  const box = h('div', { class: 'stack' })
  const run = async () => {
    box.setAttribute('aria-busy', 'true')
    fill(box, loadingBones())
    try {
      fill(box, ...[await read()].flat())
    } catch (error) {
      fill(box, faultNotice(error, run))
    }
    box.removeAttribute('aria-busy')
  }
  void run()
  return box
}

/** A box that shows a placeholder until it is filled. */
export function waitingBox(): HTMLElement {
  return h('div', { class: 'stack' }, loadingBones())
}

/** Placeholder of what is being read. */
export function loadingBones(): HTMLElement[] {
  return [h('span', { class: 'hidden-text' }, t('loading')), ...[80, 60, 70].map(bone)]
}

/** One line of a placeholder. */
function bone(width: number): HTMLElement {
  const element = h('div', { class: 'skeleton' })
  element.style.width = `${width}%`
  return element
}

/** Asks for a confirmation. @returns whether it was given */
export function confirmed(question: string, doIt: string): Promise<boolean> {
  return new Promise((resolve) => {
    const titleId = freshId('d')
    const dialog = h(
      'dialog',
      { 'aria-labelledby': titleId, onclose: () => end() },
      h(
        'form',
        { class: 'stack', method: 'dialog' },
        h('h2', { id: titleId }, t('areYouSure')),
        h('p', {}, question),
        h(
          'div',
          { class: 'row' },
          h('button', { class: 'button bad', value: 'yes' }, doIt),
          h('button', { class: 'button', value: '' }, t('cancel')),
        ),
      ),
    )
    const end = () => {
      dialog.remove()
      resolve(dialog.returnValue === 'yes')
    }
    document.body.append(dialog)
    dialog.showModal()
  })
}

/** Tabs with panels; the arrow keys move between the tabs. */
export function tabs(items: readonly { label: string; show: () => HTMLElement }[]): HTMLElement {
  const panel = h('div', { role: 'tabpanel', id: freshId('p'), tabindex: -1 })
  const choose = (at: number, focus = false) => {
    heads.forEach((head, i) => {
      head.setAttribute('aria-selected', String(i === at))
      head.tabIndex = i === at ? 0 : -1
    })
    const head = heads[at]
    if (focus) head?.focus()
    panel.setAttribute('aria-labelledby', head?.id ?? '')
    const item = items[at]
    if (item !== undefined) fill(panel, item.show())
  }
  const heads = items.map(({ label }, at) =>
    h(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: freshId('t'),
        'aria-controls': panel.id,
        onclick: () => choose(at),
        onkeydown: (event: KeyboardEvent) => {
          const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
          if (step !== 0) choose((at + step + items.length) % items.length, true)
        },
      },
      label,
    ),
  )
  choose(0)
  return h('div', { class: 'stack' }, h('div', { class: 'tabs', role: 'tablist' }, heads), panel)
}

/** Lets the browser save content as a file. */
export function saveFile(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }))
  h('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** A button that copies a text to the clipboard. */
export function copyButton(text: () => string, label = t('copy'), kind = 'small'): HTMLButtonElement {
  const element = button(
    label,
    async () => {
      await copyText(text())
      element.textContent = t('copied')
      setTimeout(() => {
        element.textContent = label
      }, 1500)
    },
    kind,
  )
  return element
}

/**
 * The clipboard API exists in secure contexts only; on pages of `http://host` the deprecated command is used.
 */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text)
  const area = h('textarea', { value: text })
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
