import { type GeoJSONSource, type Map as MapLibreMap, type MapMouseEvent, Popup } from 'maplibre-gl'
import { h } from '../../core/dom.js'
import { formatNumber, t } from '../../core/i18n.js'
import type { RecordOfMap } from '../map-view.js'
import { recordContent } from './popup.js'

/** Records of one popup. */
const MOST_SHOWN = 10
/** Width of a popup, and of the map's buttons with the space around them, px. */
const MOST_WIDTH = 300
const BUTTONS = 52
const POINTS = ['points-cluster', 'points-single']
const LINES = ['shapes-line']
const AREAS = ['shapes-fill']

/**
 * Opens the popup of the records under the pointer, or comes closer to a cluster.
 *
 * @param withAreas areas count, too
 * @returns whether there was something
 */
export function clickEvents(
  map: MapLibreMap,
  event: MapMouseEvent,
  recordAt: (index: number) => RecordOfMap | undefined,
  withAreas = false,
): boolean {
  const wanted = withAreas ? [...POINTS, ...LINES, ...AREAS] : [...POINTS, ...LINES]
  const layers = wanted.filter((id) => map.getLayer(id) !== undefined)
  const hits = map.queryRenderedFeatures(event.point, { layers })
  const cluster = hits.find(({ properties }) => properties.cluster_id !== undefined)
  if (cluster !== undefined && cluster.geometry.type === 'Point') {
    void approach(
      map,
      Number(cluster.properties.cluster_id),
      cluster.geometry.coordinates as [number, number],
    )
    return true
  }
  const found = new Set(hits.map(({ properties }) => Number(properties.at)))
  const records = [...found].map(recordAt).filter((record) => record !== undefined)
  if (records.length === 0) return false
  const rest = records.length - MOST_SHOWN
  const content = h(
    'div',
    {},
    records.slice(0, MOST_SHOWN).map(recordContent),
    rest > 0 && h('p', { class: 'soft small' }, t('furtherRecords', { n: formatNumber(rest) })),
  )
  // in a narrow map beside the buttons, not over them
  const width = Math.min(MOST_WIDTH, map.getContainer().clientWidth - 2 * BUTTONS)
  const popup = new Popup({ maxWidth: `${width}px` })
    .setLngLat(event.lngLat)
    .setDOMContent(content)
    .addTo(map)
  // below a place in the middle of a low map a popup ends outside
  const [inner, outer] = [popup.getElement(), map.getContainer()].map((each) => each.getBoundingClientRect())
  const over = (inner?.bottom ?? 0) - (outer?.bottom ?? 0)
  if (over > 0) map.panBy([0, over], { animate: false })
  return true
}

/** Moves the map to where a cluster falls apart. */
async function approach(map: MapLibreMap, cluster: number, center: [number, number]): Promise<void> {
  const source = map.getSource<GeoJSONSource>('points')
  if (source === undefined) return
  // the cluster may be gone: its records were read again meanwhile
  const zoom = await source.getClusterExpansionZoom(cluster).catch(() => map.getZoom() + 2)
  map.easeTo({ center, zoom })
}
