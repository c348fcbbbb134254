import { fill, h } from '../../core/dom.js'
import { formatHours, formatMetres, formatNumber, t } from '../../core/i18n.js'
import { FIGURES_MS, seldom } from '../../core/seldom.js'
import type { MapView } from '../map-view.js'
import { type FoundRoute, mapState } from '../state.js'
import { routeLines } from './along.js'
import { comparison, routeName } from './compare.js'
import { downloads } from './downloads.js'
import { profileChart } from './profile.js'
import { roadTable } from './roads.js'

/** Routes on the map and in the panel: what one gains over the other, their figures, and one of them in full. */
export function routeAnswer(view: MapView) {
  const gained = h('p', { class: 'gained', 'aria-live': 'polite' })
  const choices = h('div', { class: 'choices', role: 'group', 'aria-label': t('routesFound') })
  const detail = h('div', { class: 'stack' })
  const element = h('div', { class: 'stack' }, gained, choices, detail)
  let shown: readonly FoundRoute[] = []
  let offered: readonly FoundRoute[] = shown
  let isLive = false
  const choose = (key: string) => {
    if (!shown.some((each) => each.key === key)) return
    mapState.chosen = key
    present()
  }
  const chosenNow = () => shown.find(({ key }) => key === mapState.chosen) ?? shown[0]
  const present = () => {
    draw(view, shown, chosenNow(), isLive)
    if (isLive) figures.soon()
    else figures.now()
  }
  const figures = seldom(FIGURES_MS, () => {
    const chosen = chosenNow()
    const text = comparison(shown) ?? ''
    if (gained.textContent !== text) gained.textContent = text
    // a choice keeps its button: the keyboard may be there
    if (offered !== shown) fill(choices, shown.length < 2 ? [] : shown.map((each) => choice(each, choose)))
    offered = shown
    for (const each of choices.children) {
      const isChosen = (each as HTMLElement).dataset.key === chosen?.key
      each.setAttribute('aria-pressed', String(isChosen))
    }
    detail.classList.toggle('live', isLive)
    // the table is as long as the route: it waits for the end of the drag
    if (chosen === undefined) fill(detail)
    else
      fill(
        detail,
        totals(chosen),
        profileChart(chosen.route, curvesOf(chosen), view),
        !isLive && downloads(chosen),
        !isLive && roadTable(chosen.route.features, view),
      )
  })
  return {
    element,
    choose,
    /** @param nowLive a drag is under way */
    show(routes: readonly FoundRoute[], nowLive: boolean) {
      shown = routes
      isLive = nowLive
      view.setMark(undefined)
      present()
    },
  }
}

/**
 * Sensitivities under which a route was found; undefined where its cost leaves the risk out, beside routes whose cost
 * does not.
 */
function curvesOf({ kind }: FoundRoute): number[][] | undefined {
  return kind === 'fastest' && mapState.themes.size > 0 ? undefined : [...mapState.themes.values()]
}

/** Button of a route with its figures. */
function choice(found: FoundRoute, choose: (key: string) => void): HTMLElement {
  const { key, colour, route } = found
  const swatch = h('span', { class: 'swatch' })
  swatch.style.background = colour ?? 'var(--ink)'
  return h(
    'button',
    { type: 'button', class: 'choice', 'data-key': key, onclick: () => choose(key) },
    h('b', {}, swatch, routeName(found)),
    h('span', {}, `${formatHours(route.time)} · ${formatMetres(route.length)}`),
    h('span', { class: 'soft' }, t('choiceRisk', { n: route.max_risk, m: formatNumber(route.exposure, 2) })),
  )
}

function totals(found: FoundRoute): HTMLElement {
  const { length, time, total_cost, max_risk, avr_risk, exposure } = found.route
  const figure = (label: string, value: string) =>
    h('div', {}, h('b', {}, value), h('span', { class: 'soft small' }, label))
  return h(
    'div',
    { class: 'totals' },
    figure(t('length'), formatMetres(length)),
    figure(t('driving'), formatHours(time)),
    curvesOf(found) !== undefined && figure(t('cost'), formatHours(total_cost)),
    figure(t('highest'), String(max_risk)),
    figure(t('average'), formatNumber(avr_risk, 2)),
    figure(t('exposure'), formatNumber(exposure, 2)),
  )
}

/** Draws the chosen route by its risk, and the others in their colours below it. */
function draw(
  view: MapView,
  routes: readonly FoundRoute[],
  chosen: FoundRoute | undefined,
  isLive: boolean,
): void {
  const others = routes.filter((each) => each !== chosen)
  // the first of the list is drawn last, and the chosen one above all
  const drawn = [...others.reverse(), ...(chosen === undefined ? [] : [chosen])].map((each) => ({
    lines: routeLines(each.route.features, withColour(each.colour, each.key)),
    isChosen: each === chosen,
  }))
  if (!isLive)
    for (const [overlay, isChosen] of [
      ['others', false],
      ['route', true],
    ] as const)
      view.setData(
        overlay,
        drawn.filter((each) => each.isChosen === isChosen).flatMap(({ lines }) => lines),
      )
  view.drawLive(drawn, !isLive)
}

/** The colour of the route around the risk is that of the style. */
function withColour(colour: string | undefined, key: string): Record<string, unknown> {
  return { key, ...(colour === undefined ? {} : { colour }) }
}
