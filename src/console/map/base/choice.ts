import { t } from '../../core/i18n.js'
import { field, select } from '../../core/parts.js'
import type { MapView } from '../map-view.js'
import type { routePanel } from '../route/panel.js'
import { mapState, type ServedMap } from '../state.js'
import { boxOf, isInside, type Point } from './box.js'
import { placeSearch } from './search.js'

/** Part of the height and width of a route that is shown around it: a way around risk leaves the box of its ends. */
const MARGIN = 0.25

/** Controls of the map below the overlays: the choice between several, and the search of its places. */
export function baseMaps(
  maps: readonly ServedMap[],
  view: MapView,
  { now, points }: Pick<ReturnType<typeof routePanel>, 'now' | 'points'>,
): (HTMLElement | string)[] {
  const choice = select(maps.map(({ name }) => [name, name] as const))
  const take = (map: ServedMap | undefined) => {
    mapState.mapName = map?.name
    if (map !== undefined) choice.value = map.name
    view.setMap(map)
  }
  const first = firstMap(maps)
  take(first)
  if (first !== undefined && mapState.camera === undefined)
    view.fit(boxOf(mapState.points, MARGIN) ?? first.bbox)
  choice.addEventListener('change', () => {
    const chosen = maps.find(({ name }) => name === choice.value)
    take(chosen)
    if (chosen !== undefined) view.fit(chosen.bbox)
    now()
  })
  const onShow = (place: Point) => {
    const current = maps.find(({ name }) => name === mapState.mapName)
    if (current !== undefined && isInside(current.bbox, place)) return
    take(maps.find(({ bbox }) => isInside(bbox, place)) ?? current)
  }
  const search = placeSearch(maps, view, { onShow, onAdd: (point) => points.add(point) })
  return maps.length < 2 ? [search] : [field(t('base'), choice), search]
}

/** The map that the question names, else the first that has its middle or its start, else the first. */
function firstMap(maps: readonly ServedMap[]): ServedMap | undefined {
  const named = maps.find(({ name }) => name === mapState.mapName)
  const place = mapState.camera?.center ?? mapState.points[0]
  return named ?? maps.find(({ bbox }) => place !== undefined && isInside(bbox, place)) ?? maps[0]
}
