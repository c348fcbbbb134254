import { fill, h, svg } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { liveTables } from '../core/live.js'
import type { Page } from '../core/page.js'
import { faultNotice, field, select } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { readTables, themesOf } from '../core/tables.js'
import { eventsPanel } from '../map/events-panel.js'
import { riskPanel } from '../map/risk-panel.js'
import { routePanel } from '../map/route-panel.js'
import { mapState, RISK_COLOURS, type ServedMap } from '../map/state.js'
import type { MapView } from '../map/view.js'

/** Map page: the map with its overlays, and the panel that controls them. */
export function mapPage(rest: readonly string[]): Page {
  if (rest[0] !== undefined) mapState.events.add(rest[0])
  const box = h('div')
  const status = h('div', { class: 'map-status' })
  const panel = h('div', { class: 'map-panel' }, h('h1', {}, t('navMap')))
  let view: MapView | undefined
  let isClosed = false
  const open = async () => {
    const notice = h('p', { class: 'notice', role: 'status' }, t('loading'))
    fill(status, notice)
    try {
      // the map library is most of the console's bytes: it is loaded with this page only
      const { createMapView } = await import('../map/view.js')
      const [{ maps }, tables] = await Promise.all([
        call<{ maps: ServedMap[] }>('routing.list_maps', {}),
        readTables().catch((error: unknown) => {
          fill(status, faultNotice(error)) // the map works without the tables
          return []
        }),
      ])
      if (isClosed) return
      notice.remove()
      if (maps.length === 0) status.append(h('p', { class: 'notice warn' }, t('noMap')))
      const made = await showMap({ box, panel, status }, createMapView, maps, tables)
      if (isClosed) made.close()
      else view = made
    } catch (error) {
      fill(status, faultNotice(error))
    }
  }
  void open()
  return {
    title: t('navMap'),
    element: h('div', {}, panel, h('div', { class: 'map-box' }, box, status, legend())),
    close() {
      isClosed = true
      view?.close()
    },
  }
}

/** Parts of the page: the place of the map, the panel beside it, and the line of messages. */
interface MapParts {
  box: HTMLElement
  panel: HTMLElement
  status: HTMLElement
}

/** Creates the map and the panels that control it. @returns when the overlays have been read */
async function showMap(
  { box, panel, status }: MapParts,
  create: typeof import('../map/view.js')['createMapView'],
  maps: readonly ServedMap[],
  tables: Awaited<ReturnType<typeof readTables>>,
): Promise<MapView> {
  const view = create(box, {
    onClick: (point) => route.add(point),
    onDragged: (index, point) => route.move(index, point),
    onMoved() {
      void risk.show()
      void events.show()
    },
    onFault: (message) => fill(status, h('p', { class: 'notice bad', role: 'alert' }, message)),
  })
  const route = routePanel(view)
  const themes = themesOf(tables)
  const live = liveTables(
    () => box.isConnected,
    (name) => {
      if (mapState.events.has(name)) void events.show()
      if (![...mapState.themes.keys()].some((theme) => themes.get(theme) === name)) return
      void risk.show()
      route.searchSoon()
    },
  )
  // risk first: it moves the route
  const follow = () =>
    live.follow([
      ...[...mapState.themes.keys()].flatMap((theme) => themes.get(theme) ?? []),
      ...mapState.events,
    ])
  const risk = riskPanel(themes, view, { onWeights: route.searchSoon, onShown: follow })
  const events = eventsPanel(tables, view, follow)
  const chosen = maps.find(({ name }) => name === mapState.mapName) ?? maps[0]
  const take = (map: ServedMap | undefined, isFitted: boolean) => {
    mapState.mapName = map?.name
    view.setMap(map)
    if (map !== undefined && isFitted) view.fit(map.bbox)
    route.searchSoon()
  }
  take(chosen, mapState.camera === undefined)
  const base = baseChoice(maps, chosen, (map) => take(map, true))
  panel.append(base, route.element, risk.element, events.element)
  await Promise.all([risk.show(), events.show()])
  follow()
  return {
    ...view,
    close() {
      live.close()
      view.close()
    },
  }
}

function baseChoice(
  maps: readonly ServedMap[],
  chosen: ServedMap | undefined,
  take: (map: ServedMap | undefined) => void,
): HTMLElement | string {
  if (maps.length < 2) return ''
  const choice = select(
    maps.map(({ name }) => [name, name] as const),
    chosen?.name,
  )
  choice.addEventListener('change', () => take(maps.find(({ name }) => name === choice.value)))
  return field(t('base'), choice)
}

/** Legend of the colours of the levels. */
function legend(): HTMLElement {
  const bars = RISK_COLOURS.map((colour, level) =>
    svg('rect', { x: level * 10, y: 0, width: 10, height: 10, fill: colour }),
  )
  return h(
    'div',
    { class: 'map-legend' },
    h('span', {}, `${t('risk')} 0`),
    svg('svg', { viewBox: '0 0 110 10', 'aria-hidden': 'true' }, bars),
    h('span', {}, '10'),
  )
}
