import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { importer } from '../import/importer.js'

/** Page that makes a table of a file. */
export function importPage(): Page {
  const { element, close } = importer(undefined)
  return {
    title: t('navImport'),
    element: h(
      'div',
      { class: 'stack' },
      h('h1', {}, t('navImport')),
      h('p', { class: 'soft' }, t('importIntro')),
      element,
    ),
    close,
  }
}
