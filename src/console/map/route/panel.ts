import { h } from '../../core/dom.js'
import { t } from '../../core/i18n.js'
import { button, copyButton } from '../../core/parts.js'
import { isochroneForm } from '../isochrone.js'
import type { MapView } from '../map-view.js'
import { routeOptions } from './options.js'
import { routePoints } from './points.js'
import { routeSearch } from './search.js'

/**
 * Panel of the route search: points, options, the found routes, and the link to all of it.
 *
 * @param onSettled called when the question has changed, not during a drag
 * @param address of the current question
 */
export function routePanel(view: MapView, onSettled: () => void, address: () => string) {
  const found = routeSearch(view, onSettled)
  const isochrone = isochroneForm(view, onSettled)
  const points = routePoints(view, (isLive) => {
    if (isLive) return found.live()
    found.now()
    void isochrone.follow()
    onSettled()
  })
  const optionsChanged = () => {
    found.now()
    onSettled()
  }
  const element = h(
    'section',
    { 'aria-labelledby': 'route-title' },
    h('h2', { id: 'route-title' }, t('routeTitle')),
    h('p', { class: 'soft small' }, t('routeHint')),
    points.element,
    routeOptions(optionsChanged),
    h(
      'div',
      { class: 'row' },
      button(t('findRoute'), found.now, 'main'),
      button(t('clearRoute'), () => points.change([])),
      copyButton(address, t('copyLink'), ''),
    ),
    found.element,
    isochrone.element,
  )
  return {
    element,
    points,
    choose: found.choose,
    live: found.live,
    stop: found.stop,
    /** answers the question anew, as it is now */
    now() {
      found.now()
      void isochrone.follow()
    },
  }
}
