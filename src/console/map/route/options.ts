import { h } from '../../core/dom.js'
import { t } from '../../core/i18n.js'
import { checkbox, field, select } from '../../core/parts.js'
import { facts } from '../../core/session.js'
import { MAX_ROUTES, mapState } from '../state.js'

/** Options of the search: order of via points, time of the risk, number of routes. */
export function routeOptions(onChange: () => void): HTMLElement {
  const most = Math.min(MAX_ROUTES, facts().maxAlternatives)
  const count = select(
    Array.from({ length: most }, (_, i) => [String(i + 1), String(i + 1)] as const),
    String(mapState.alternatives),
  )
  count.disabled = mapState.timeDependent
  count.addEventListener('change', () => {
    mapState.alternatives = Number(count.value)
    onChange()
  })
  const flag = (label: string, key: 'reorder' | 'timeDependent') =>
    checkbox(label, {
      checked: mapState[key],
      onchange: (event: Event) => {
        mapState[key] = (event.target as HTMLInputElement).checked
        count.disabled = mapState.timeDependent
        onChange()
      },
    })
  return h(
    'div',
    { class: 'stack tight' },
    flag(t('reorder'), 'reorder'),
    flag(t('timeDependent'), 'timeDependent'),
    field(t('alternatives'), count),
  )
}
