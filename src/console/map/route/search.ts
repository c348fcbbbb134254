import { fill, h } from '../../core/dom.js'
import { formatNumber, t } from '../../core/i18n.js'
import { newest } from '../../core/newest.js'
import { faultNotice } from '../../core/parts.js'
import type { MapView } from '../map-view.js'
import { mapState } from '../state.js'
import { routeAnswer } from './answer.js'
import { findRoutes } from './question.js'

/**
 * Search that shows the found routes or the error.
 *
 * @param onFound called after each answer, not during a drag
 */
export function routeSearch(view: MapView, onFound: () => void) {
  const answer = routeAnswer(view)
  const computed = h('p', { class: 'soft small computed' })
  const fault = h('div')
  const clear = () => {
    fill(fault)
    computed.textContent = ''
    answer.show([], false)
  }
  const search = async (signal: AbortSignal, isLive: boolean) => {
    if (mapState.points.length < 2) return clear()
    try {
      const { routes, searchMs } = await findRoutes(signal, isLive)
      if (signal.aborted) return
      fill(fault)
      answer.show(routes, isLive)
      computed.textContent =
        searchMs === undefined ? '' : t('computedIn', { n: routes.length, ms: formatNumber(searchMs, 1) })
      if (!isLive) onFound()
    } catch (error) {
      // during a drag the last routes stay: the pointer may pass over the sea. The drop tells the fault
      if (signal.aborted || isLive) return
      clear()
      fill(fault, faultNotice(error, latest.now))
    }
  }
  const latest = newest(search)
  return {
    ...latest,
    choose: answer.choose,
    element: h('div', { class: 'stack' }, fault, answer.element, computed),
  }
}
