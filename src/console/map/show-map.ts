import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { liveTables } from '../core/live.js'
import { button } from '../core/parts.js'
import { type TableInfo, themesOf } from '../core/tables.js'
import { baseMaps } from './base/choice.js'
import { drawPanel } from './draw/panel.js'
import { eventsPanel } from './events/panel.js'
import { lateView } from './late-view.js'
import { linkOf } from './link.js'
import type { MapEvents } from './map-view.js'
import { riskPanel } from './risk-panel.js'
import { routePanel } from './route/panel.js'
import { mapState, type ServedMap } from './state.js'
import { timeEnds } from './time/ends.js'
import { timePanel } from './time/panel.js'

/** Parts of the page: the place of the map, the panel beside it, and the messages. */
interface MapParts {
  readonly box: HTMLElement
  readonly panel: HTMLElement
  readonly status: HTMLElement
}

/** Part that answers the question of the page, at once or during a drag. */
type Live = Record<'live' | 'now', () => void>

/** State of the page, and the way to open it once more. */
interface MapData {
  readonly maps: readonly ServedMap[]
  readonly tables: readonly TableInfo[]
  /** reads everything again, because there may be a new table. @param news that is shown then */
  again(news: string): void
}

/** Creates the map and the panels that control it. @returns a function that ends all of it */
export function showMap({ box, panel, status }: MapParts, { maps, tables, again }: MapData): () => void {
  const themes = themesOf(tables)
  const keepAddress = addressKeeper()
  let isMapThere = false
  const mapEvents: MapEvents = {
    onClick: (point) => route.points.add(point),
    takes: (point) => draw.take(point),
    onKey: (key) => draw.key(key),
    onChoose: (key) => route.choose(key),
    onDragging: (index, point) => route.points.move(index, point, true),
    onDragged: (index, point) => route.points.move(index, point, false),
    onRemove: (index) => route.points.remove(index),
    line: seizedLine(() => route.points),
    recordAt: (index) => events.recordAt(index),
    onMoved() {
      isMapThere = true
      risk.now()
      events.now()
      keepAddress()
    },
    onFault: (text) =>
      showFault(status, text, () => view.setMap(maps.find(({ name }) => name === mapState.mapName))),
  }
  // the map library is most of the console's bytes: it is loaded with this page only, after the panel
  const view = lateView(box, mapEvents, async () => (await import('./view.js')).createMapView)
  const route = routePanel(
    view,
    keepAddress,
    () => `${location.origin}${location.pathname}#/map?${linkOf(mapState, true)}`,
  )
  const time = timeOf(() => ({ route, risk, events }), keepAddress)
  const { follow, close } = followData(themes, box, time, (name) => {
    if (mapState.events.has(name)) events.now()
    if (![...mapState.themes.keys()].some((theme) => themes.get(theme) === name)) return
    risk.now()
    route.now()
  })
  const chosenAnew = () => {
    keepAddress()
    void follow().then((isMoved) => {
      if (isMoved) refresh()
    })
  }
  const risk = riskPanel(themes, view, {
    onWeights(isLive) {
      route[isLive ? 'live' : 'now']()
      if (!isLive) keepAddress()
    },
    onShown: chosenAnew,
  })
  const draw = drawPanel(view, tables, (text) => {
    keepAddress()
    again(text)
  })
  risk.element.append(draw.element)
  const events = eventsPanel(tables, view, chosenAnew)
  const refresh = () => {
    route.now()
    // for the visible area: not before there is one
    if (isMapThere) for (const part of [risk, events]) part.now()
  }
  panel.append(...baseMaps(maps, view, route), route.element, time.element, risk.element, events.element)
  refresh()
  chosenAnew()
  window.addEventListener('online', refresh)
  return () => {
    window.removeEventListener('online', refresh)
    time.stop()
    for (const part of [route, risk, events]) part.stop()
    close()
    view.close()
  }
}

/** The time line: the parts of the page follow it. */
function timeOf(
  parts: () => Record<'route' | 'risk', Live> & { events: ReturnType<typeof eventsPanel> },
  keepAddress: () => void,
) {
  const settled = (isLive: boolean) => {
    parts().events.refresh()
    if (!isLive) keepAddress()
  }
  return timePanel(
    (isLive) => {
      const { route, risk, events } = parts()
      // records of all times stay as they are
      const following = mapState.recordTimes === 'all' ? [route, risk] : [route, risk, events]
      for (const part of following) part[isLive ? 'live' : 'now']()
      settled(isLive)
    },
    (isLive) => {
      parts().events[isLive ? 'live' : 'now']()
      settled(isLive)
    },
  )
}

/**
 * Keeps the question in the address bar: a reload, a bookmark and another tab show the same. An address that
 * somebody else has set meanwhile stays: its page is about to open.
 */
function addressKeeper(): () => void {
  let known = location.hash
  return () => {
    if (location.hash !== known) return
    const { isTimeChosen, themes, events } = mapState
    const withTime = isTimeChosen || themes.size + events.size > 0
    history.replaceState(null, '', `#/map?${linkOf(mapState, withTime)}`)
    known = location.hash
  }
}

/** Dragging the line of the route makes a via point of the leg that was seized. */
function seizedLine(points: () => ReturnType<typeof routePanel>['points']): MapEvents['line'] {
  let index = 0
  return {
    onStart(leg, point) {
      index = Math.min(mapState.points.length - 1, leg + 1)
      points().insert(index, point, true)
    },
    onMove: (point) => points().move(index, point, true),
    onEnd: (point) => points().move(index, point, false),
  }
}

/**
 * Follows the tables that are shown: their changes, and the ends of their times.
 *
 * @param onChange called with the name of a table that changed
 */
function followData(
  themes: ReadonlyMap<string, string>,
  box: HTMLElement,
  time: ReturnType<typeof timePanel>,
  onChange: (name: string) => void,
) {
  const ends = timeEnds()
  // risk first: it moves the route
  const shown = () => [
    ...new Set([
      ...[...mapState.themes.keys()].flatMap((theme) => themes.get(theme) ?? []),
      ...mapState.events,
    ]),
  ]
  const fit = async () => {
    const before = mapState.atMs
    // the line stays as it is where the ends cannot be read: the layers tell the fault
    const span = await ends.of(shown()).catch(() => undefined)
    time.fit(span)
    return mapState.atMs !== before
  }
  const live = liveTables(
    () => box.isConnected,
    (name) => {
      onChange(name)
      ends.forget(name)
      void fit()
    },
  )
  return {
    /** follows what is shown now. @returns whether the time moved into the data */
    follow() {
      live.follow(shown())
      return fit()
    },
    close: live.close,
  }
}

/** Shows one fault of the map: tiles fail by the dozen. */
function showFault(status: HTMLElement, text: string, again: () => void): void {
  const close = () => fill(status)
  const retry = () => {
    close()
    again()
  }
  fill(
    status,
    h(
      'div',
      { class: 'notice bad', role: 'alert' },
      h('p', {}, text),
      h('div', { class: 'row' }, button(t('tryAgain'), retry, 'small'), button(t('close'), close, 'small')),
    ),
  )
}
