import type { TrustedClock } from '../../clock.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

/** A named collection of models. */
export interface ModelStoreRecord {
  storeId: number
  name: string
  /** unique name with the creation time, `name_1735754645.67` */
  longForm: string
  createdAtUs: number
}

/** Why a store stays: what it still holds that is not upstream yet. */
export interface StoreInUse {
  waitingTransfers: number
}

/** Model stores. Names may be given in the short or the long form. */
export interface ModelStores {
  /** undefined when the name is taken */
  create(name: string): Promise<ModelStoreRecord | undefined>
  find(name: string): Promise<ModelStoreRecord | undefined>
  byId(storeId: number): Promise<ModelStoreRecord | undefined>
  /**
   * Removes a store with its models and upstreams, unless a transfer of it still waits.
   *
   * @returns the store that went, what keeps it, or undefined when it is unknown
   */
  remove(name: string): Promise<ModelStoreRecord | StoreInUse | undefined>
}

interface StoreRow {
  store_id: number
  name: string
  long_form: string
  created_at_us: number
}

export function createModelStores(state: StateDb, clock: TrustedClock): ModelStores {
  return {
    create: (name) => writeState(state, () => insertStore(state, clock, name)),
    find: async (name) => storeRow(state, name),
    async byId(storeId) {
      const row = statement<StoreRow>(state.db, 'SELECT * FROM model_store WHERE store_id = ?').get(storeId)
      return row === undefined ? undefined : toStoreRecord(row)
    },
    remove: (name) => writeState(state, () => removeStore(state, name)),
  }
}

/** A store by short or long form. */
export function storeRow({ db }: StateDb, name: string): ModelStoreRecord | undefined {
  const row = statement<StoreRow>(
    db,
    'SELECT * FROM model_store WHERE name = :name OR long_form = :name ORDER BY name = :name DESC LIMIT 1',
  ).get({ name })
  return row === undefined ? undefined : toStoreRecord(row)
}

export function toStoreRecord(row: StoreRow): ModelStoreRecord {
  return {
    storeId: row.store_id,
    name: row.name,
    longForm: row.long_form,
    createdAtUs: row.created_at_us,
  }
}

/** Inserts a store; undefined when the name is taken. Two long forms never meet: a taken one moves on by 1 µs. */
export function insertStore(state: StateDb, clock: TrustedClock, name: string): ModelStoreRecord | undefined {
  if (storeRow(state, name) !== undefined) return undefined
  for (let atUs = clock.nowUs(); ; atUs++) {
    const longForm = `${name}_${epochText(atUs)}`
    if (storeRow(state, longForm) !== undefined) continue
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

/** Epoch seconds with their fraction, trailing zeros dropped: `1735754645.67`. */
function epochText(us: number): string {
  const whole = Math.floor(us / 1_000_000)
  const fraction = String(us - whole * 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return fraction === '' ? String(whole) : `${whole}.${fraction}`
}

function removeStore(state: StateDb, name: string): ModelStoreRecord | StoreInUse | undefined {
  const { db } = state
  const store = storeRow(state, name)
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
