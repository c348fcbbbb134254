import { addRows, feature, MAPS, makeTable, record } from '../api.mjs'

const POINT = { type: 'Point', coordinates: [139.7, 35.6] }
const search = (client, table, conds, more) =>
  client.call(MAPS, 'mapserv.eventdata', feature(null, { table, columns: ['id'], conds, limit: 10 }), more)

/** Conditions that cost much: the attacker may read. */
export const CONDITIONS = [
  {
    name: 'long-like',
    does: 'a like of 10,000 characters on a text of 1 MB',
    scopes: ['map:read'],
    async prepare(admin) {
      if (!(await makeTable(admin, 'longtext', { id: 'int4', note: 'text' }))) return
      await addRows(admin, 'longtext', 3, 1, (id) => record(POINT, { id, note: 'a'.repeat(1_000_000) }))
    },
    run: (client) =>
      client.loop(4, () => search(client, 'longtext', { like: ['note', `%${'a'.repeat(10_000)}b%`] })),
  },
  {
    name: 'wild-like',
    does: 'likes of 300 times `%a_`, on a text of 1 MB',
    scopes: ['map:read'],
    prepare: (admin, scale) => CONDITIONS[0].prepare(admin, scale),
    run: (client) =>
      client.loop(4, () => search(client, 'longtext', { like: ['note', `${'%a_'.repeat(300)}b`] })),
  },
  {
    name: 'many-likes',
    does: '900 likes over 10,000 rows',
    scopes: ['map:read'],
    async prepare(admin) {
      if (!(await makeTable(admin, 'notes', { id: 'int4', note: 'text' }))) return
      await addRows(admin, 'notes', 10_000, 2000, (id) =>
        record(POINT, { id, note: `gauge ${id} by the road` }),
      )
    },
    run: (client) => {
      const terms = Array.from({ length: 900 }, (_, i) => ({ like: ['note', `%x${i}y%z%`] }))
      return client.loop(4, () => search(client, 'notes', { or: terms }))
    },
  },
]
