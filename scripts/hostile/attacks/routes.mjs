import { MAPS, zigzag } from '../api.mjs'

const AT = '2026-01-01 00:00:00Z'

/** Route searches that cost much. */
export const ROUTES = [
  {
    name: 'zigzag-areas',
    does: 'routes round an area of 20,000 vertices, which are too many; the caller hangs up after 2 s',
    scopes: ['route:read'],
    run: (client, { town }) => runZigzag(client, town, 20_000),
  },
  {
    name: 'zigzag-roads',
    does: 'routes round an area of 9,900 vertices; the caller hangs up after 2 s',
    scopes: ['route:read'],
    run: (client, { town }) => runZigzag(client, town, 9900),
  },
  {
    name: 'many-areas',
    does: 'isochrones of ten minutes round 100 areas',
    scopes: ['route:read'],
    run: (client, { town }) => {
      const width = town.east - town.west
      const areas = Array.from({ length: 100 }, (_, i) => {
        const west = town.west + (width * i) / 100
        return zigzag(18, [west, town.south], [west + width / 2, town.north])
      })
      const costs = Array.from({ length: 10 }, (_, i) => (i + 1) / 60)
      const params = {
        lonlat: town.places[0],
        costs,
        themes: {},
        start_datetime: AT,
        map: town.map,
        avoid_polygons: areas,
      }
      return client.loop(4, () => client.call(MAPS, 'routing.isochrone', [params]))
    },
  },
  {
    name: 'matrices',
    does: 'matrices of 100 by 100 without end',
    scopes: ['route:read'],
    run: (client, { town }) => {
      const points = Array.from({ length: 100 }, (_, i) => town.places[i % town.places.length])
      const params = { sources: points, targets: points, themes: {}, start_datetime: AT, map: town.map }
      return client.loop(8, () => client.call(MAPS, 'routing.matrix', [params]))
    },
  },
]

function runZigzag(client, town, vertices) {
  const area = zigzag(vertices, [town.west, town.south], [town.east, town.north])
  const params = routeOf(town, { avoid_polygons: [area] })
  return client.loop(4, () => client.call(MAPS, 'routing.dijkstra', [params], { hangUpMs: 2000 }))
}

function routeOf(town, more) {
  const [start_lonlat, goal_lonlat] = town.places
  return { themes: {}, start_lonlat, goal_lonlat, start_datetime: AT, map: town.map, ...more }
}
