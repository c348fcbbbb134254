import '../test/load-typescript.mjs'
import pg from 'pg'
import { withOwner } from '../owner.mjs'
import { option } from './options.mjs'

const { makeDatabase, noPostgres, optionsFor, startServer } = await import('../../test/support/postgres.ts')
const { openPostgres } = await import('../../src/storage/postgres/connection/database.ts')

const INSERT = 'INSERT INTO item (id, body) VALUES ($1, $2)'
const BODY = 'x'.repeat(200)

/**
 * Writes of one row of a hub's storage, beside the driver alone with the same statements in the same server. The
 * server runs without fsync, so that the cost of the program shows, and not that of the disk.
 */
export const run = () =>
  withOwner(noPostgres(), async (owner) => {
    const server = await startServer(owner)
    const name = await makeDatabase(server)
    await server.admin(
      `CREATE SCHEMA fieldgate AUTHORIZATION fieldgate; CREATE TABLE fieldgate.item (id int PRIMARY KEY, body text);
      GRANT ALL ON ALL TABLES IN SCHEMA fieldgate TO fieldgate`,
      name,
    )
    for (const writers of [1, 8]) {
      for (let i = 0; i < 2; i++) {
        await measure('driver alone', writers, await bareWriter(server, name, writers))
        await measure('write', writers, hubWriter(server, name, writers))
      }
    }
  })

let nextId = 0

async function measure(title, writers, { write, close }) {
  const seconds = option('seconds', 4)
  for (let i = 0; i < 100; i++) await write(++nextId, 0)
  const took = []
  const untilMs = performance.now() + seconds * 1000
  const cpu = process.cpuUsage()
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      while (performance.now() < untilMs) {
        const startedMs = performance.now()
        await write(++nextId, writer)
        took.push(performance.now() - startedMs)
      }
    }),
  )
  const { user, system } = process.cpuUsage(cpu)
  await close()
  took.sort((a, b) => a - b)
  const at = (share) => took[Math.floor(took.length * share)].toFixed(2)
  const perWriteUs = ((user + system) / took.length).toFixed(0)
  console.log(
    `${title.padEnd(14)} ${writers} writers: ${Math.round(took.length / seconds)} writes/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${perWriteUs} µs of this process each`,
  )
}

async function bareWriter({ host }, database, writers) {
  const clients = Array.from(
    { length: writers },
    () => new pg.Client({ ...host, database, user: 'fieldgate', password: '', ssl: false }),
  )
  for (const client of clients) {
    await client.connect()
    await client.query('SET search_path TO fieldgate')
  }
  return {
    async write(id, writer) {
      const client = clients[writer]
      await client.query('BEGIN')
      await client.query({ name: 'insert', text: INSERT, values: [id, BODY] })
      await client.query('COMMIT')
    },
    close: () => Promise.all(clients.map((client) => client.end())),
  }
}

function hubWriter({ host }, database, writers) {
  const limits = { connections: writers + 2 }
  const db = openPostgres({ ...optionsFor([host], database, { limits }), random: Math.random })
  return {
    write: (id) => db.write((rows) => rows.run(INSERT, id, BODY)),
    close: () => db.close(),
  }
}
