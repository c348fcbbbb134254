import { addRows, feature, LOADER, MAPS, makeTable, record } from '../api.mjs'

const POINT = { type: 'Point', coordinates: [139.7, 35.6] }
/** Just below `limits.valueBytes`. */
const LARGE_CHARS = 8_000_000
const HUGE_CHARS = 90_000_000
const TABLE = 'largevalues'

/** Rows as large as they may be. */
async function makeRows(admin, scale) {
  if (!(await makeTable(admin, TABLE, { id: 'int4', note: 'text' }))) return
  const note = 'a'.repeat(LARGE_CHARS)
  await addRows(admin, TABLE, Math.max(10, Math.round(100 * scale)), 1, (id) => record(POINT, { id, note }))
}

const add = (chars, id) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'loaderwebapi.add_record',
    params: {
      data_name: TABLE,
      options: { if_exists: 'override' },
      record_set: [record(POINT, { id, note: 'b'.repeat(chars) })],
    },
  })

const search = (properties) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'mapserv.eventdata',
    params: feature(null, { table: TABLE, ...properties }),
  })

/** Values that are as large as they may be, and larger. */
export const LARGE_VALUES = [
  {
    name: 'huge-values',
    does: '10 callers add records with a text of 90 MB',
    scopes: ['loader:write'],
    prepare: makeRows,
    run: (client) => {
      const body = Buffer.from(add(HUGE_CHARS, 1))
      return client.loop(10, () => client.send({ path: LOADER, body }))
    },
  },
  {
    name: 'large-values',
    does: '10 callers add records with a text of 8 MB',
    scopes: ['loader:write'],
    prepare: makeRows,
    run: (client) => {
      const bodies = Array.from({ length: 4 }, (_, id) => Buffer.from(add(LARGE_CHARS, id)))
      return client.loop(10, (i) => client.send({ path: LOADER, body: bodies[i % bodies.length] }))
    },
  },
  {
    name: 'large-value-reads',
    does: '20 callers read rows of 8 MB each',
    scopes: ['map:read'],
    prepare: makeRows,
    run: (client) => {
      const body = search({ columns: [], limit: 20 })
      return client.loop(20, () => client.send({ path: MAPS, body }))
    },
  },
  {
    name: 'large-value-likes',
    does: '20 callers ask for a like on rows of 8 MB each',
    scopes: ['map:read'],
    prepare: makeRows,
    run: (client) => {
      const body = search({ columns: ['id'], conds: { like: ['note', '%ab%'] }, limit: 10 })
      return client.loop(20, () => client.send({ path: MAPS, body }))
    },
  },
]
