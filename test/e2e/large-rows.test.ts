// Not counted: its loops are long, and shorter tests take the same branches (scripts/test/load-typescript.mjs)
import t from 'tap'
import { pairHeaders, startGateway, type TestGateway } from '../support/start-gateway.js'

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const MAPS = '/api/v1/svcapi/jsonrpc'
/** Just below the default of `limits.valueBytes`. */
const BYTES = 8 * 1024 * 1024 - 100
/** Rows that come one after the other: none may be held while the next one is read. */
const ROWS = 3
const LINE_POSITIONS = Math.floor((BYTES - 9) / 16)

const position = (i: number) => [139 + ((i * 7919) % 10_007) / 10_000, 35 + ((i * 104_729) % 10_007) / 10_000]
const line = {
  type: 'LineString',
  coordinates: Array.from({ length: LINE_POSITIONS }, (_, i) => position(i)),
}
const point = { type: 'Point', coordinates: [139.5, 35.5] }
/** Twice as long in JSON, and two bytes a character for one that needs them. */
const note = `${'"'.repeat(BYTES - 3)}あ`

/** Tables with a row as large as it may be, by what is large in it. */
const TABLES = [
  { name: 'lines', geometry: line, properties: {} },
  { name: 'notes', geometry: point, properties: { note } },
]

async function fill(gateway: TestGateway, { name, geometry, properties }: (typeof TABLES)[number]) {
  const record_def = { id: { udt_name: 'int4' }, note: { udt_name: 'text', is_nullable: true } }
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    ...{ data_name: name, record_def, unique_columns: ['id'] },
  })
  for (let id = 0; id < ROWS; id++) {
    const at = { start_datetime: '2026-01-01 00:00:00Z', end_datetime: '2026-01-01 01:00:00Z' }
    const record = { type: 'Feature', geometry, properties: { id, note: null, ...at, ...properties } }
    const added = await gateway.call(LOADER, 'loaderwebapi.add_record', {
      data_name: name,
      record_set: [record],
    })
    if (added.body.error !== undefined) throw new Error(added.body.error.message)
  }
}

interface Feature {
  geometry: { coordinates: unknown[] }
  properties: { id: number; note: string | null }
}

/** What must be the same of each row, in short. */
const facts = ({ geometry, properties: { id, note } }: Feature) => [
  id,
  geometry.coordinates.length,
  geometry.coordinates.at(-1),
  note?.length,
  note?.at(-1),
]

t.test(
  'large rows: one caller alone gets rows as large as they may be, with the default limits',
  async (t) => {
    const gateway = await startGateway(t)
    for (const table of TABLES) {
      await fill(gateway, table)
      const expected = Array.from({ length: ROWS }, (_, id) =>
        facts({ ...table, properties: { id, note: null, ...table.properties } }),
      )
      const params = { type: 'Feature', geometry: null, properties: { table: table.name, columns: [] } }
      const { status, body } = await gateway.call(MAPS, 'mapserv.eventdata', params)
      t.equal(status, 200)
      t.same(body.result.features.map(facts), expected, `${table.name} as event data`)
      const url = `${gateway.url}/ogc/collections/table.${table.name}/items?limit=${ROWS}&f=json`
      const items = await fetch(url, { headers: pairHeaders(gateway.admin) })
      t.equal(items.status, 200)
      const { features } = (await items.json()) as { features: Feature[] }
      t.same(features.map(facts), expected, `${table.name} as OGC features`)
    }
    const ended = gateway.logLines.filter(({ msg }) => /reader thread/.test(String(msg)))
    t.same(ended, [], 'no thread was ended')
  },
)
