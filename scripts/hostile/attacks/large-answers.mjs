import { addRows, feature, MAPS, makeTable, record } from '../api.mjs'

const POINT = { type: 'Point', coordinates: [139.7, 35.6] }
const text = (table) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'mapserv.eventdata',
    params: feature(null, { table, columns: [] }),
  })

/** Answers that are larger than the memory that they may take. */
export const LARGE_ANSWERS = [
  {
    name: 'large-rows',
    does: 'every row of a table whose rows hold 1 MB each',
    scopes: ['map:read'],
    seconds: 15,
    async prepare(admin, scale) {
      if (!(await makeTable(admin, 'rasters', { id: 'int4', picture: 'bytea' }))) return
      const picture = Buffer.alloc(1_000_000, 7).toString('base64')
      await addRows(admin, 'rasters', Math.round(600 * scale), 10, (id) => record(POINT, { id, picture }))
    },
    run: (client) => client.loop(2, () => client.send({ path: MAPS, body: text('rasters') })),
  },
  {
    name: 'twenty-readers',
    does: '20 callers read an answer of 29 MB',
    scopes: ['map:read'],
    prepare: makeWide,
    run: (client) => client.loop(20, () => client.send({ path: MAPS, body: text('wide') })),
  },
  {
    name: 'never-read',
    does: '100 callers ask for an answer of 29 MB and never read it',
    scopes: ['map:read'],
    prepare: makeWide,
    run: async (client) => {
      const body = text('wide')
      const head = Object.entries(client.headers).map(([name, value]) => `${name}: ${value}\r\n`)
      for (let i = 0; i < 100; i++)
        client
          .socket((socket) =>
            socket.write(
              `POST ${MAPS} HTTP/1.1\r\nHost: x\r\n${head.join('')}Content-Length: ${body.length}\r\n\r\n${body}`,
            ),
          )
          .pause()
    },
  },
]

async function makeWide(admin) {
  if (!(await makeTable(admin, 'wide', { id: 'int4', note: 'text' }))) return
  const note = 'b'.repeat(800)
  await addRows(admin, 'wide', 30_000, 5000, (id) => record(POINT, { id, note }))
}
