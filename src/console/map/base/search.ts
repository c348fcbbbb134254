import { fill, h } from '../../core/dom.js'
import { faultText } from '../../core/fault-text.js'
import { t } from '../../core/i18n.js'
import { button, field } from '../../core/parts.js'
import { call } from '../../core/rpc.js'
import type { MapView } from '../map-view.js'
import { mapState, type ServedMap } from '../state.js'

/** A place of `routing.find_places`. */
interface Place {
  name: string
  name_latin: string | null
  kind: string
  lonlat: [number, number]
  bbox: [number, number, number, number]
}

/** Pause of typing after which the gateway is asked, ms. */
const PAUSE_MS = 200
const MOST = 8
/** Degrees around a place without an extent, by its kind; others are shown as streets are. */
const AROUND: Record<string, number> = { city: 0.08, town: 0.04, suburb: 0.02, village: 0.02, hamlet: 0.01 }
const STREET = 0.003

interface PlaceEvents {
  /** a place is about to be shown */
  onShow(place: [number, number]): void
  /** a place becomes a point of the route */
  onAdd(point: [number, number]): void
}

/** Search of places by name, for maps that have a base map. */
export function placeSearch(
  maps: readonly ServedMap[],
  view: MapView,
  events: PlaceEvents,
): HTMLElement | string {
  if (!maps.some(({ base }) => base)) return ''
  const input = h('input', {
    type: 'search',
    autocomplete: 'off',
    maxlength: 100,
    'aria-controls': 'places-found',
  })
  const status = h('p', { class: 'soft small', role: 'status' })
  const list = h('ul', { class: 'places', id: 'places-found' })
  const show = (places: readonly Place[]) => {
    fill(
      list,
      places.slice(0, MOST).map((place) => placeItem(place, view, events)),
    )
    fill(
      status,
      input.value.trim() === ''
        ? ''
        : places.length === 0
          ? t('placesNone')
          : places.length > MOST
            ? t('placesFirst', { n: MOST })
            : t('placesFound', { n: places.length }),
    )
  }
  const search = newestOnly(async (signal) => {
    const text = input.value.trim()
    if (text === '') return show([])
    const map = maps.find(({ name, base }) => name === mapState.mapName && base)?.name
    try {
      const question = { text, limit: MOST + 1, ...(map === undefined ? {} : { map }) }
      const { places } = await call<{ places: Place[] }>('routing.find_places', question, signal)
      show(places)
    } catch (error) {
      if (!signal.aborted) fill(status, faultText(error))
    }
  })
  input.addEventListener('input', () => search(PAUSE_MS))
  const form = h('form', { role: 'search', class: 'stack' }, field(t('findPlace'), input), status, list)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    search(0)
  })
  return h('section', {}, form)
}

/** Runs the newest of several tasks after a pause, and stops the one before. */
function newestOnly(task: (signal: AbortSignal) => Promise<void>): (pauseMs: number) => void {
  let stop = new AbortController()
  let timer: number | undefined
  return (pauseMs) => {
    stop.abort()
    stop = new AbortController()
    const { signal } = stop
    window.clearTimeout(timer)
    timer = window.setTimeout(() => void task(signal), pauseMs)
  }
}

function placeItem(place: Place, view: MapView, { onShow, onAdd }: PlaceEvents): HTMLElement {
  const { name, name_latin: latin, kind, lonlat } = place
  const go = () => {
    onShow(lonlat)
    view.fit(boxOf(place))
    view.setMark(lonlat)
  }
  const add = () => {
    view.setMark(undefined)
    onAdd(lonlat)
  }
  return h(
    'li',
    {},
    h(
      'button',
      { type: 'button', class: 'place-found', onclick: go },
      h('span', {}, name),
      latin !== null && h('span', { class: 'soft' }, ` ${latin}`),
      h('span', { class: 'soft small' }, ` · ${kindText(kind)}`),
    ),
    button('+', add, 'small', { 'aria-label': t('addPlace', { name }), title: t('addPlace', { name }) }),
  )
}

/** Kinds of places that have a word. */
const KINDS = [
  ...(['City', 'Town', 'Village', 'Hamlet', 'Suburb', 'Street', 'Hospital'] as const),
  ...(['School', 'Park', 'Forest', 'Water', 'River', 'Stream', 'Island'] as const),
]

function kindText(kind: string): string {
  const word = KINDS.find((each) => each.toLowerCase() === kind)
  return word === undefined ? kind.replace(/_/g, ' ') : t(`kind${word}`)
}

/** Returns the box to show: that of the place, at least as wide as its kind needs. */
function boxOf({ kind, lonlat: [lng, lat], bbox }: Place): [number, number, number, number] {
  const around = AROUND[kind] ?? STREET
  const [west, south, east, north] = bbox
  return [
    Math.min(west, lng - around),
    Math.min(south, lat - around / 2),
    Math.max(east, lng + around),
    Math.max(north, lat + around / 2),
  ]
}
