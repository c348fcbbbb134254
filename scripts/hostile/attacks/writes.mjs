import { addRows, feature, LOADER, MAPS, makeTable, record, SESSION } from '../api.mjs'

const POINT = { type: 'Point', coordinates: [139.7, 35.6] }

/** Calls that write. */
export const WRITES = [
  {
    name: 'small-writes',
    does: '1,000 add_record of one row at once',
    scopes: ['loader:write'],
    async prepare(admin) {
      await makeTable(admin, 'written', { id: 'int4' })
    },
    run: (client) => {
      let id = 0
      return client.loop(1000, () =>
        client.call(LOADER, 'loaderwebapi.add_record', {
          data_name: 'written',
          options: { if_exists: 'override' },
          record_set: [record(POINT, { id: id++ % 5000 })],
        }),
      )
    },
  },
  {
    name: 'many-sessions',
    does: 'batches of 100 open_session by 10 callers',
    scopes: ['session:write'],
    run: (client) => {
      const body = JSON.stringify(
        Array.from({ length: 100 }, (_, id) => ({
          jsonrpc: '2.0',
          id,
          method: 'session.open_session',
          params: { expires_in: 3600 },
        })),
      )
      return client.loop(10, () => client.send({ path: SESSION, body }))
    },
  },
  {
    name: 'large-batches',
    does: 'batches of 100 risk maps by 10 callers',
    scopes: ['map:read'],
    run: (client, { town }) => {
      const area = {
        type: 'Polygon',
        coordinates: [
          [
            [town.west, town.south],
            [town.east, town.south],
            [town.east, town.north],
            [town.west, town.north],
            [town.west, town.south],
          ],
        ],
      }
      const params = feature(area, {
        start_datetime: '2026-01-01 00:00:00Z',
        themes: ['flood'],
        target_theme_mesh_degree: 3,
      })
      const body = JSON.stringify(
        Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'mapserv.riskmap', params })),
      )
      return client.loop(10, () => client.send({ path: MAPS, body }))
    },
  },
  {
    name: 'large-loads',
    does: 'four callers load 20,000 rows a call',
    scopes: ['loader:write'],
    async prepare(admin) {
      await makeTable(admin, 'loaded', { id: 'int4', note: 'text' })
      await addRows(admin, 'loaded', 1, 1, (id) => record(POINT, { id, note: '' }))
    },
    run: (client) => {
      const rows = Array.from({ length: 20_000 }, (_, id) =>
        record(POINT, { id, note: 'a gauge by the road' }),
      )
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'loaderwebapi.add_record',
        params: { data_name: 'loaded', options: { if_exists: 'override' }, record_set: rows },
      })
      return client.loop(4, () => client.send({ path: LOADER, body }))
    },
  },
  {
    name: 'hang-ups',
    does: '2,000 signals of SIGHUP a second',
    run: async (client, { pid }) => {
      for (;;) {
        for (let i = 0; i < 100; i++) process.kill(pid, 'SIGHUP')
        client.count('100 SIGHUP')
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
  },
]
