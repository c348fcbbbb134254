// Rows of a hub as they are stored, beside the same rows with geometry of PostGIS and in partitions by day: what each
// takes to write, to find by its key, to search by an area, and on the disk. The driver alone; PostgreSQL without fsync.
// Options: --rows=N, --batch=N rows of a statement, --areas=N.
import '../test/load-typescript.mjs'
import pg from 'pg'
import { withOwner } from '../owner.mjs'
import { cpuS, endedCpuS } from '../proc.mjs'
import { createRandom } from '../random.mjs'
import { option } from './options.mjs'

const { makeDatabase, noPostgres, processesOf, startServer } = await import('../../test/support/postgres.ts')
const { prepareArea } = await import('../../src/geo/prepared-area.ts')
const { encodeWkb } = await import('../../src/geo/wkb.ts')

const DAYS = 30
const DAY_US = 86_400_000_000
const FIRST_US = 1_780_272_000_000_000 // 2026-06-01
/** degrees of latitude; the rows lie within 20 km, areas have 1 km */
const KM = 1 / 111.3
const WEST = -8.7
const SOUTH = 41.1

const COLUMNS = 'row_id bigint, key text, start_us bigint, value double precision'
const BOX = {
  geometry: 'place box, location bytea',
  place: 'place',
  value: 'box(point(x, y), point(x, y)), location',
}
const POSTGIS = {
  geometry: 'location geometry(Geometry, 4326)',
  place: 'location',
  value: 'ST_GeomFromWKB(location, 4326)',
}
const STATES = {
  'as stored': BOX,
  PostGIS: POSTGIS,
  'in partitions': { ...BOX, partition: 'PARTITION BY RANGE (start_us)' },
}

export const run = () =>
  withOwner(noPostgres(), async (owner) => {
    const server = await startServer(owner, undefined, { shared_buffers: '512MB', max_wal_size: '4GB' })
    const database = await makeDatabase(server)
    const [{ count }] = await server.admin(
      `SELECT count(*) FROM pg_available_extensions WHERE name = 'postgis'`,
    )
    if (Number(count) === 0) return console.log('skipped: PostGIS is not installed')
    await server.admin('CREATE EXTENSION postgis', database)
    const client = new pg.Client({ ...server.host, user: 'postgres', password: '', database, ssl: false })
    owner.teardown(() => client.end())
    await client.connect()
    const found = []
    for (const [title, state] of Object.entries(STATES))
      found.push(await measure(server, client, title, state))
    if (new Set(found).size !== 1) throw new Error(`found ${found.join(', ')} rows, expected the same`)
  })

async function measure(server, client, title, { geometry, place, value, partition = '' }) {
  await client.query(`DROP TABLE IF EXISTS item; CREATE TABLE item (${COLUMNS}, ${geometry}) ${partition}`)
  for (let day = 0; partition !== '' && day < DAYS; day++)
    await client.query(`CREATE TABLE item_${day} PARTITION OF item
      FOR VALUES FROM (${FIRST_US + day * DAY_US}) TO (${FIRST_US + (day + 1) * DAY_US})`)
  // a key of a table in partitions must have the column that they are made by
  await client.query(`CREATE UNIQUE INDEX ON item (key COLLATE "C"${partition && ', start_us'});
    CREATE UNIQUE INDEX ON item (row_id${partition && ', start_us'});
    CREATE INDEX ON item USING gist (${place}); CREATE INDEX ON item USING gist (int8range(start_us, start_us, '[]'))`)
  const written = await writeRows(server, client, value)
  await client.query('ANALYZE item')
  const keys = await lookUp(client)
  const areas = await searchAreas(server, client, place === 'location')
  const [{ mb }] = (
    await client.query(`SELECT sum(pg_total_relation_size(oid)) / 1e6 AS mb FROM pg_class
      LEFT JOIN pg_inherits ON inhrelid = oid WHERE oid = 'item'::regclass OR inhparent = 'item'::regclass`)
  ).rows
  console.log(
    `${title.padEnd(14)} ${written.rate} rows/s, ${written.serverUs} µs of PostgreSQL a row; 2,000 keys ${keys} ms; ` +
      `area ${areas.ms} ms, of PostgreSQL ${areas.serverMs}, of this process ${areas.ownMs}, ${areas.found} rows; ${Number(mb).toFixed(0)} MB`,
  )
  return areas.found
}

/** Writes rows in the order of their times, as gateways send them. */
async function writeRows(server, client, value) {
  const [rows, batch] = [option('rows', 1_000_000), option('batch', 2000)]
  const random = createRandom(5)
  const text = `INSERT INTO item SELECT row_id, key, start_us, value, ${value}
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::float8[], $5::float8[], $6::float8[], $7::bytea[])
    AS r (row_id, key, start_us, value, x, y, location)`
  let tookMs = 0
  const before = serverS(server)
  for (let from = 0; from < rows; from += batch) {
    const columns = [[], [], [], [], [], [], []]
    for (let row = from; row < Math.min(from + batch, rows); row++) {
      const [x, y] = [WEST + random() * 20 * KM, SOUTH + random() * 20 * KM]
      const location = encodeWkb({ type: 'Point', coordinates: [x, y] })
      const startUs = FIRST_US + Math.floor((row / rows) * DAYS * DAY_US)
      const one = [row, keyOf(row), startUs, random() * 100, x, y, Buffer.from(location)]
      for (const [at, each] of one.entries()) columns[at].push(each)
    }
    const fromMs = performance.now()
    await client.query({ name: `insert ${value}`, text, values: columns })
    tookMs += performance.now() - fromMs
  }
  const serverUs = (((serverS(server) - before) / rows) * 1e6).toFixed(1)
  return { rate: Math.round(rows / (tookMs / 1000)), serverUs }
}

const keyOf = (row) => `device-${row % 5000}-${row}`

/** Looks for keys, as each write does before it stores rows. @returns milliseconds of a statement, median */
async function lookUp(client) {
  const random = createRandom(6)
  const took = []
  for (let i = 0; i < 20; i++) {
    const keys = Array.from({ length: 2000 }, () =>
      keyOf(Math.floor(random() * option('rows', 1_000_000) * 2)),
    )
    const text = `SELECT row_id FROM unnest($1::text[]) AS k (key) JOIN LATERAL
      (SELECT row_id FROM item WHERE item.key = k.key COLLATE "C" LIMIT 1) AS found ON true`
    const fromMs = performance.now()
    await client.query(text, [keys])
    took.push(performance.now() - fromMs)
  }
  return medianOf(took).toFixed(1)
}

/** Searches areas of 12 corners and 1 km. PostGIS tests them itself, otherwise this process does, of rows in the box. */
async function searchAreas(server, client, isPostgis) {
  const count = option('areas', 200)
  const random = createRandom(7)
  const took = []
  let found = 0
  const [beforeS, own] = [serverS(server), process.cpuUsage()]
  for (let i = 0; i < count; i++) {
    const area = areaAt(WEST + (1 + random() * 18) * KM, SOUTH + (1 + random() * 18) * KM)
    const fromMs = performance.now()
    found += isPostgis ? await inPostgis(client, area) : await inProcess(client, area)
    took.push(performance.now() - fromMs)
  }
  const { user, system } = process.cpuUsage(own)
  const each = (seconds) => ((seconds / count) * 1000).toFixed(2)
  return {
    ms: medianOf(took).toFixed(2),
    serverMs: each(serverS(server) - beforeS),
    ownMs: each((user + system) / 1e6),
    found,
  }
}

const ROW = "row_id, key, start_us, value, encode(location, 'hex') AS location"

async function inPostgis(client, area) {
  const text = `SELECT ${ROW.replace('location,', 'ST_AsBinary(location),')} FROM item
    WHERE ST_Intersects(location, ST_SetSRID(ST_GeomFromGeoJSON($1), 4326)) ORDER BY row_id`
  return (await client.query(text, [JSON.stringify(area)])).rows.length
}

async function inProcess(client, area) {
  const prepared = prepareArea(area)
  const text = `SELECT ${ROW} FROM item
    WHERE place && box(point($1::float8, $2::float8), point($3::float8, $4::float8)) ORDER BY row_id`
  const { rows } = await client.query(text, prepared.bbox)
  return rows.filter(({ location }) => prepared.intersectsWkb(Buffer.from(location, 'hex'))).length
}

function areaAt(x, y) {
  const corners = Array.from({ length: 12 }, (_, at) => {
    const angle = (at / 6) * Math.PI
    const km = at % 2 === 0 ? 0.5 : 0.4
    return [x + Math.cos(angle) * km * KM, y + Math.sin(angle) * km * KM]
  })
  return { type: 'Polygon', coordinates: [[...corners, corners[0]]] }
}

/** Processor time of the server so far, seconds. */
function serverS({ dataDir }) {
  const processes = processesOf(dataDir)
  return processes.reduce((sum, pid) => sum + cpuS(pid), endedCpuS(processes[0]))
}

const medianOf = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]
