import { randomUUID } from 'node:crypto'
import { longFormOf, type ModelStoreRecord, type ModelStores } from '../../models/model-stores.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'
import { type ListFields, listTail } from '../lists/list-tail.js'
import { deleteModels } from './released.js'

const COLUMNS = `s.store_id AS "storeId", s.name, s.long_form AS "longForm", s.created_at_us AS "createdAtUs"`
/** The short form wins. */
const FIND = `SELECT ${COLUMNS} FROM model_store AS s WHERE s.name = $1 OR s.long_form = $1
  ORDER BY (s.name = $1) DESC LIMIT 1`
const BY_ID = `SELECT ${COLUMNS} FROM model_store AS s WHERE s.store_id = $1`
const OWN = `SELECT ${COLUMNS} FROM model_store AS s WHERE s.made_by = $1`

const FIELDS: ListFields = {
  id: { sql: 's.store_id', type: 'int8' },
  model_store_ddc: { sql: 's.name', type: 'text' },
  long_form: { sql: 's.long_form', type: 'text' },
  created_at: { sql: 's.created_at_us', type: 'timestamptz' },
}

/** Creates the model stores. */
export function createModelStores(db: PostgresDb, clock: TrustedClock): ModelStores {
  return {
    create(name) {
      const madeBy = randomUUID()
      return db.write(async (rows, { isRepeat }) => {
        const own = isRepeat ? await rows.get<ModelStoreRecord>(OWN, madeBy) : undefined
        return own ?? (await insertStore(rows, { schema: db.schema, name, madeBy, nowUs: clock.nowUs() }))
      })
    },
    find: (name) => findStore(db.read, name),
    byId: (storeId) => db.read.get<ModelStoreRecord>(BY_ID, storeId),
    async list(query) {
      const { sql, values } = listTail(FIELDS, 's.store_id', query)
      return await db.read.once<ModelStoreRecord>(
        `SELECT ${COLUMNS} FROM model_store AS s WHERE ${sql}`,
        ...values,
      )
    },
    async remove(name) {
      const store = await findStore(db.read, name)
      if (store === undefined) return undefined
      return await db.write((rows, { isRepeat }) => removeStore(rows, store, isRepeat))
    },
  }
}

/** Finds a store by its short or long form; the short form wins. */
export function findStore(rows: Rows, name: string): Promise<ModelStoreRecord | undefined> {
  return rows.get<ModelStoreRecord>(FIND, name)
}

/** Keeps a store until the end of the transaction. @returns false when it is gone */
export async function keepStore(rows: Rows, storeId: number): Promise<boolean> {
  const held = await rows.get('SELECT 1 FROM model_store WHERE store_id = $1 FOR KEY SHARE', storeId)
  return held !== undefined
}

/**
 * Inserts a store. Its long form is unique: if it is taken, the creation time is advanced by 1 µs. Call it inside a
 * transaction.
 *
 * @returns undefined if the name is taken
 */
export async function insertStore(
  rows: Rows,
  { schema, name, madeBy, nowUs }: { schema: string; name: string; madeBy: string; nowUs: number },
): Promise<ModelStoreRecord | undefined> {
  // a name may not be the long form of another store either: stores are made in turn, by all processes
  await rows.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `${schema} model stores`)
  if ((await findStore(rows, name)) !== undefined) return undefined
  let atUs = nowUs
  while ((await findStore(rows, longFormOf(name, atUs))) !== undefined) atUs++
  const insert = `INSERT INTO model_store AS s (name, long_form, created_at_us, made_by) VALUES ($1, $2, $3, $4)
    RETURNING ${COLUMNS}`
  return writtenRow(await rows.get<ModelStoreRecord>(insert, name, longFormOf(name, atUs), atUs, madeBy))
}

/** Removes a store with its models and upstreams. */
async function removeStore(rows: Rows, store: ModelStoreRecord, isRepeat: boolean) {
  const { storeId } = store
  // waits for models that are being added, and keeps further ones out
  const held = await rows.get('SELECT 1 FROM model_store WHERE store_id = $1 FOR UPDATE', storeId)
  if (held === undefined) return isRepeat ? store : undefined
  const waiting = await rows.get<{ n: number }>(
    `SELECT count(*) AS n FROM transfer WHERE store_id = $1 AND state IN ('queued', 'sending')`,
    storeId,
  )
  if (waiting !== undefined && waiting.n > 0) return { waitingTransfers: waiting.n }
  await deleteModels(rows, 'm.store_id = $1', storeId)
  await rows.run('DELETE FROM upstream WHERE store_id = $1', storeId)
  await rows.run('DELETE FROM model_store WHERE store_id = $1', storeId)
  return store
}
