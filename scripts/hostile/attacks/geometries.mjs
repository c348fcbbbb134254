import { addRows, feature, MAPS, makeTable, record, zigzag } from '../api.mjs'

/** Geometries against geometries. */
export const GEOMETRIES = [
  {
    name: 'many-points',
    does: 'an area of 30,000 vertices against a stored MultiPoint of 30,000',
    scopes: ['map:read'],
    async prepare(admin) {
      if (!(await makeTable(admin, 'points', { id: 'int4' }))) return
      // the points lie where the zigzag does not come, so that none ends the search early
      const coordinates = Array.from({ length: 30_000 }, (_, i) => [139.7 + i * 1e-7, 35.5999])
      await addRows(admin, 'points', 3, 1, (id) => record({ type: 'MultiPoint', coordinates }, { id }))
    },
    run: (client) => {
      const area = zigzag(30_000, [139.69, 35.6], [139.8, 35.7])
      // a corner far below makes the boxes overlap
      area.coordinates[0].splice(1, 0, [139.69, 35.5])
      return client.loop(2, () =>
        client.call(MAPS, 'mapserv.eventdata', feature(area, { table: 'points', columns: ['id'] })),
      )
    },
  },
  {
    name: 'zigzag-map',
    does: 'risk maps of degree 5 in an area of 30,000 vertices',
    scopes: ['map:read'],
    run: (client, { town }) => {
      const area = zigzag(30_000, [town.west, town.south], [town.east, town.north])
      const properties = {
        start_datetime: '2026-01-01 00:00:00Z',
        themes: ['flood'],
        target_theme_mesh_degree: 5,
      }
      return client.loop(4, () => client.call(MAPS, 'mapserv.riskmap', feature(area, properties)))
    },
  },
]
