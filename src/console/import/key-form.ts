import type { ColumnFacts } from '../../tabular/columns.js'
import type { KeyCount } from '../../tabular/key-counter.js'
import type { RowFile } from '../../tabular/row-file.js'
import { fill, h } from '../core/dom.js'
import { formatNumber, sentences, t } from '../core/i18n.js'
import { checkbox } from '../core/parts.js'
import { type Draft, keyChoices } from './draft.js'

/**
 * Key of the records, with what they share of it.
 *
 * @param isFixed the table exists: its key cannot be chosen
 */
export function keyFields(
  draft: Draft,
  facts: readonly ColumnFacts[],
  places: RowFile['places'],
  isFixed: boolean,
  onChange: () => void,
) {
  const box = h('div', { class: 'row' })
  const result = h('div', { role: 'status' })
  const show = () => {
    const choices = keyChoices(draft, facts)
    fill(
      box,
      [...choices].map(([value, name]) => {
        const label = checkbox(name, { checked: draft.key.has(value) })
        const input = label.querySelector('input')
        input?.addEventListener('change', () => {
          if (input.checked) draft.key.add(value)
          else draft.key.delete(value)
          onChange()
        })
        return label
      }),
    )
  }
  show()
  return {
    element: h(
      'section',
      { class: 'stack tight' },
      h('h2', {}, t('uniqueKey')),
      h('p', { class: 'soft small' }, t('uniqueHint')),
      !isFixed && h('fieldset', {}, h('legend', { class: 'hidden-text' }, t('uniqueKey')), box),
      result,
    ),
    show,
    showBusy: () => fill(result, h('p', { class: 'soft' }, t('importCounting'))),
    showCount: (count: KeyCount | undefined) => fill(result, countNotice(count, places)),
  }
}

function countNotice(count: KeyCount | undefined, places: RowFile['places']): HTMLElement[] {
  if (count === undefined || count.columns.length === 0)
    return [h('p', { class: 'notice warn' }, t('importNoKey'))]
  const key = count.columns.join(', ')
  const notices: HTMLElement[] = []
  if (count.shared === 0 && count.missing === 0)
    notices.push(h('p', { class: 'notice good' }, t('importUnique', { key })))
  if (count.shared > 0) notices.push(h('p', { class: 'notice warn' }, sharedText(count, places)))
  if (count.missing > 0)
    notices.push(
      h('p', { class: 'notice warn' }, t('importKeyMissing', { n: formatNumber(count.missing), key })),
    )
  if (!count.isWhole) notices.push(h('p', { class: 'notice warn' }, t('importKeysCut')))
  return notices
}

/** Text about records with the key of an earlier one, with examples by their places. */
export function sharedText({ shared, examples }: KeyCount, places: RowFile['places']): string {
  const word = places === 'lines' ? 'importSharedLines' : 'importSharedRecords'
  const found = examples.map(({ first, second, key }) =>
    t(word, { n: formatNumber(second), m: formatNumber(first), key }),
  )
  return sentences(t('importShared', { n: formatNumber(shared) }), ...found)
}
