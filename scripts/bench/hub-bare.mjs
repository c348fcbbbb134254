import pg from 'pg'

/**
 * Writes the rows of a table once more into an empty copy of it with the same indexes, as the driver alone does it: one
 * statement a batch by `unnest`, each with its commit.
 *
 * @param hub `{ place, engines }`
 * @param batch rows of a statement
 * @returns rows a second
 */
export async function writeBare({ place, engines }, { rows, batch, writers }) {
  const { host, admin } = engines.postgres
  const [{ name }] = await admin(
    `SELECT relname AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
     WHERE nspname = 'fieldgate' AND relname ~ '^rows_[0-9]+$' AND relkind IN ('r', 'p') ORDER BY reltuples DESC LIMIT 1`,
    place.database,
  )
  await admin(`CREATE TABLE bare (LIKE fieldgate.${name} INCLUDING ALL)`, place.database)
  const columns = await admin(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = 'fieldgate.${name}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    place.database,
  )
  const texts = columns.map((column) => `"${column.name}"::text`).join(', ')
  const given = columns.map((column, at) => `$${at + 1}::text[]::${column.type}[]`)
  const insert = `INSERT INTO bare SELECT * FROM unnest(${given.join(', ')})`
  const client = () =>
    new pg.Client({ ...host, user: 'postgres', password: '', database: place.database, ssl: false })
  const clients = Array.from({ length: writers }, client)
  try {
    for (const each of clients) await each.connect()
    const read = {
      text: `SELECT ${texts} FROM fieldgate.${name} ORDER BY row_id LIMIT ${rows}`,
      rowMode: 'array',
    }
    const all = (await clients[0].query(read)).rows
    const batches = []
    for (let from = 0; from < all.length; from += batch)
      batches.push(columns.map((_column, at) => all.slice(from, from + batch).map((row) => row[at])))
    const startedMs = performance.now()
    await Promise.all(
      clients.map(async (each) => {
        for (let values = batches.pop(); values !== undefined; values = batches.pop())
          await each.query({ name: 'insert', text: insert, values })
      }),
    )
    return all.length / ((performance.now() - startedMs) / 1000)
  } finally {
    for (const each of clients) await each.end()
    await admin('DROP TABLE bare', place.database)
  }
}
