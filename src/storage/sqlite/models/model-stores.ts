import {
  longFormOf,
  type ModelStoreRecord,
  type ModelStores,
  type StoreInUse,
} from '../../models/model-stores.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement } from '../connection/database.js'
import { type ListFields, listTail, queryOnce } from '../connection/list-tail.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface StoreRow {
  store_id: number
  name: string
  long_form: string
  created_at_us: number
}

const FIELDS: ListFields = {
  id: { sql: 's.store_id', type: 'int8' },
  model_store_ddc: { sql: 's.name', type: 'text' },
  long_form: { sql: 's.long_form', type: 'text' },
  created_at: { sql: 's.created_at_us', type: 'timestamptz' },
}

/** Creates the model stores of `state.db`. */
export function createModelStores(state: StateDb, clock: TrustedClock): ModelStores {
  const { db } = state
  return {
    create: (name) => writeState(state, () => insertStore(state, clock, name)),
    find: async (name) => findStore(state, name),
    async byId(storeId) {
      const row = statement<StoreRow>(db, 'SELECT * FROM model_store WHERE store_id = ?').get(storeId)
      return row === undefined ? undefined : toStoreRecord(row)
    },
    async list(query) {
      const tail = listTail(FIELDS, 's.store_id', query)
      const rows = queryOnce<StoreRow>(db, `SELECT s.* FROM model_store s WHERE ${tail.sql}`, tail.values)
      return rows.map(toStoreRecord)
    },
    remove: (name) => writeFreeing(state, () => removeStore(state, name)),
  }
}

/** Finds a store by its short or long form; the short form wins. */
export function findStore({ db }: StateDb, name: string): ModelStoreRecord | undefined {
  const row = statement<StoreRow>(
    db,
    'SELECT * FROM model_store WHERE name = :name OR long_form = :name ORDER BY name = :name DESC LIMIT 1',
  ).get({ name })
  return row === undefined ? undefined : toStoreRecord(row)
}

function toStoreRecord(row: StoreRow): ModelStoreRecord {
  return {
    storeId: row.store_id,
    name: row.name,
    longForm: row.long_form,
    createdAtUs: row.created_at_us,
  }
}

/**
 * Inserts a store. Its long form is unique: if it is taken, the creation time is advanced by 1 µs. The caller
 * holds the transaction.
 *
 * @returns undefined if the name is taken
 */
export function insertStore(state: StateDb, clock: TrustedClock, name: string): ModelStoreRecord | undefined {
  if (findStore(state, name) !== undefined) return undefined
  for (let atUs = clock.nowUs(); ; atUs++) {
    const longForm = longFormOf(name, atUs)
    if (findStore(state, longForm) !== undefined) continue
    const { lastInsertRowid } = statement(
      state.db,
      'INSERT INTO model_store (name, long_form, created_at_us) VALUES (?, ?, ?)',
    ).run(name, longForm, atUs)
    return toStoreRecord({
      store_id: Number(lastInsertRowid),
      name,
      long_form: longForm,
      created_at_us: atUs,
    })
  }
}

function removeStore(state: StateDb, name: string): ModelStoreRecord | StoreInUse | undefined {
  const { db } = state
  const store = findStore(state, name)
  if (store === undefined) return undefined
  const { storeId } = store
  const waiting = statement<{ n: number }>(
    db,
    `SELECT count(*) AS n FROM transfer WHERE store_id = ? AND state IN ('queued', 'sending')`,
  ).get(storeId)
  if (waiting !== undefined && waiting.n > 0) return { waitingTransfers: waiting.n }
  statement(db, 'DELETE FROM model WHERE store_id = ?').run(storeId)
  statement(db, 'DELETE FROM upstream WHERE store_id = ?').run(storeId)
  statement(db, 'DELETE FROM model_store WHERE store_id = ?').run(storeId)
  return store
}
