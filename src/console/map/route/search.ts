import { fill, h } from '../../core/dom.js'
import { formatNumber, t } from '../../core/i18n.js'
import { newest } from '../../core/newest.js'
import { faultNotice } from '../../core/parts.js'
import { boxOf } from '../base/box.js'
import type { MapView } from '../map-view.js'
import { type FoundRoute, mapState } from '../state.js'
import { routeAnswer } from './answer.js'
import { findRoutes } from './question.js'

/**
 * Search that shows the found routes or the error.
 *
 * @param onFound called after each answer, not during a drag
 */
export function routeSearch(view: MapView, onFound: () => void) {
  const answer = routeAnswer(view)
  const showAll = firstView(view)
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
      showAll(routes)
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

/**
 * Shows all of the first routes where the address names no view: those around risk may leave the box of the
 * points, on which the map opened.
 */
function firstView(view: MapView): (routes: readonly FoundRoute[]) => void {
  let isOpen = mapState.camera === undefined && mapState.points.length > 1
  return (routes) => {
    if (!isOpen) return
    isOpen = false
    const places = routes.flatMap(({ route }) =>
      route.features.flatMap(({ geometry }) => geometry.coordinates),
    )
    const box = boxOf(places, 0)
    if (box !== undefined && !view.shows(box)) view.fit(box)
  }
}
