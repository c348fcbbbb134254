import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { faultNotice } from '../core/parts.js'
import type { MapEvents, MapView } from './map-view.js'
import { mapState } from './state.js'

type CreateView = (box: HTMLElement, events: MapEvents) => MapView
type Bounds = ReturnType<MapView['bounds']>

/** Pixels of the world at zoom 0, as the map's library counts. */
const WORLD = 512
/** West, south, east, north of a view that nothing says anything about. */
const EARTH: Bounds = [-180, -85, 180, 85]

/**
 * A map that comes later: its library is most of the console's bytes, and the panel beside it works meanwhile.
 * What is set before is kept, and set once the map is there.
 *
 * @param load loads the library; once more after a fault, when the user asks for it
 */
export function lateView(box: HTMLElement, events: MapEvents, load: () => Promise<CreateView>): MapView {
  const notice = h('div', { class: 'map-loading', role: 'status' })
  /** the newest of each kind, in the order in which kinds were set first */
  const kept = new Map<string, (view: MapView) => void>()
  let view: MapView | undefined
  let isClosed = false
  let fitted: Bounds | undefined
  const open = async () => {
    fill(notice, h('p', { class: 'notice' }, t('loadingMap')))
    try {
      const create = await load()
      if (isClosed) return
      view = create(box, events)
      for (const set of kept.values()) set(view)
      kept.clear()
      notice.remove()
      events.onMoved() // what a view shows is read for the visible area
    } catch (error) {
      fill(notice, faultNotice(error, open))
    }
  }
  box.before(notice)
  void open()
  const set = (kind: string, act: (view: MapView) => void) => {
    if (view === undefined) kept.set(kind, act)
    else act(view)
  }
  return {
    setMap: (map) => set('map', (now) => now.setMap(map)),
    setData: (overlay, features) => set(overlay, (now) => now.setData(overlay, features)),
    // a drag of a slider ends with data that are set
    drawLive: (routes, isLast) => view?.drawLive(routes, isLast),
    showPoints: (points) => set('pins', (now) => now.showPoints(points)),
    setMark: (point) => set('mark', (now) => now.setMark(point)),
    fit(bbox) {
      fitted = [...bbox]
      set('fit', (now) => now.fit(bbox))
    },
    shows: (bbox) => view?.shows(bbox) ?? false,
    bounds: () => view?.bounds() ?? fitted ?? boundsOf(mapState.camera, box),
    close() {
      isClosed = true
      notice.remove()
      view?.close()
    },
  }
}

/** Area that a camera will show in a box, about: it is read anew when the map is there. */
function boundsOf(camera: typeof mapState.camera, { clientWidth, clientHeight }: HTMLElement): Bounds {
  if (camera === undefined) return EARTH
  const [lng, lat] = camera.center
  const degrees = 360 / (WORLD * 2 ** camera.zoom)
  const east = (clientWidth / 2) * degrees
  const north = (clientHeight / 2) * degrees * Math.cos((lat * Math.PI) / 180)
  return [lng - east, lat - north, lng + east, lat + north]
}
