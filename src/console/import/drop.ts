import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { offerFiles } from './state.js'

/** Lets files be dropped anywhere on the page. @returns a function that ends it */
export function dropTarget(): () => void {
  const overlay = h(
    'div',
    { class: 'drop-overlay', hidden: true, 'aria-hidden': 'true' },
    h('p', {}, t('dropHere')),
  )
  let depth = 0
  const show = (by: number) => {
    depth = Math.max(0, depth + by)
    overlay.hidden = depth === 0
  }
  const stop = new AbortController()
  const on = (name: string, act: (event: DragEvent) => void) =>
    window.addEventListener(name, (event) => hasFiles(event as DragEvent) && act(event as DragEvent), {
      signal: stop.signal,
    })
  on('dragenter', (event) => {
    event.preventDefault()
    show(1)
  })
  on('dragleave', () => show(-1))
  // a field of a form takes its own files, which a prevented event would not bring
  on('dragover', (event) => {
    if (!isField(event.target)) event.preventDefault()
  })
  on('drop', (event) => {
    depth = 0
    show(0)
    if (isField(event.target)) return
    event.preventDefault()
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length > 0) offerFiles(files)
  })
  document.body.append(overlay)
  return () => {
    stop.abort()
    overlay.remove()
  }
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes('Files') === true
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && target.type === 'file'
}
