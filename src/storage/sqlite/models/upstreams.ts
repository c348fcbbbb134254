import type { Keyring } from '../../keyring.js'
import {
  type NewUpstream,
  UPSTREAM_SECRET_CONTEXT,
  type UpstreamRecord,
  type UpstreamRows,
} from '../../models/upstreams.js'
import type { TrustedClock } from '../../work/clock.js'
import { statement, writtenRow } from '../connection/database.js'
import { type ListFields, listTail, queryOnce } from '../connection/list-tail.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface UpstreamRow {
  upstream_id: number
  store_id: number
  store_name: string
  endpoint: string
  apikey: string
  secret: Uint8Array
  upstream_store: string
  alias: string
  description: string
  enabled: number
  created_at_us: number
  updated_at_us: number
}

const FIELDS: ListFields = {
  id: { sql: 'u.upstream_id', type: 'int8' },
  model_store_ddc: { sql: 's.name', type: 'text' },
  model_store_ddc_id: { sql: 'NULL', type: 'int8' },
  model_store_dataset_id: { sql: 'u.store_id', type: 'int8' },
  upstream_endpoint: { sql: 'u.endpoint', type: 'text' },
  upstream_apikey: { sql: 'u.apikey', type: 'text' },
  upstream_model_store_ddc: { sql: 'u.upstream_store', type: 'text' },
  alias: { sql: 'u.alias', type: 'text' },
  description: { sql: 'u.description', type: 'text' },
  enabled: { sql: 'u.enabled', type: 'bool' },
  created_at: { sql: 'u.created_at_us', type: 'timestamptz' },
  updated_at: { sql: 'u.updated_at_us', type: 'timestamptz' },
}

const SELECT = 'SELECT u.*, s.name AS store_name FROM upstream u JOIN model_store s USING (store_id)'
const INSERT = `INSERT INTO upstream (store_id, endpoint, apikey, secret, upstream_store, alias, description, enabled,
  created_at_us, updated_at_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const UPDATE = `UPDATE upstream SET store_id = ?, endpoint = ?, apikey = ?, secret = ?, upstream_store = ?, alias = ?,
  description = ?, enabled = ?, updated_at_us = ? WHERE upstream_id = ?`

/** Creates the rows of upstreams of `state.db`. */
export function createUpstreamRows(state: StateDb, clock: TrustedClock, keyring: Keyring): UpstreamRows {
  const { db } = state
  const toRecord = (row: UpstreamRow) => toUpstreamRecord(row, keyring)
  const findRow = (upstreamId: number) =>
    statement<UpstreamRow>(db, `${SELECT} WHERE u.upstream_id = ?`).get(upstreamId)
  const find = (upstreamId: number) => {
    const row = findRow(upstreamId)
    return row === undefined ? undefined : toRecord(row)
  }
  return {
    create: (upstream) =>
      writeState(state, () => {
        const nowUs = clock.nowUs()
        const insert = statement(db, INSERT)
        const values = valuesOf(upstream, encrypted(upstream.secret, keyring))
        const { lastInsertRowid } = insert.run(...values, nowUs, nowUs)
        return writtenRow(find(Number(lastInsertRowid)))
      }),
    find: async (upstreamId) => find(upstreamId),
    ofStore: async (storeId) =>
      statement<UpstreamRow>(db, `${SELECT} WHERE u.store_id = ? ORDER BY u.upstream_id`)
        .all(storeId)
        .map(toRecord),
    async list(query) {
      const tail = listTail(FIELDS, 'u.upstream_id', query)
      return queryOnce<UpstreamRow>(db, `${SELECT} WHERE ${tail.sql}`, tail.values).map(toRecord)
    },
    update: (upstreamId, change) =>
      writeState(state, () => {
        const old = findRow(upstreamId)
        if (old === undefined) return undefined
        const secret = change.secret === undefined ? old.secret : encrypted(change.secret, keyring)
        const values = valuesOf({ ...toRecord(old), ...change }, secret)
        statement(db, UPDATE).run(...values, clock.nowUs(), upstreamId)
        return find(upstreamId)
      }),
    remove: (upstreamId) =>
      writeFreeing(state, () => {
        const old = find(upstreamId)
        statement(db, 'DELETE FROM upstream WHERE upstream_id = ?').run(upstreamId)
        return old
      }),
  }
}

/** Values of the columns `store_id` to `enabled`, in the order of `INSERT` and `UPDATE`. */
function valuesOf(upstream: Omit<NewUpstream, 'secret'>, secret: Uint8Array): unknown[] {
  return [
    upstream.storeId,
    upstream.endpoint,
    upstream.apikey,
    secret,
    upstream.upstreamStore,
    upstream.alias,
    upstream.description,
    upstream.isEnabled ? 1 : 0,
  ]
}

function encrypted(secret: string, keyring: Keyring): Buffer {
  return Buffer.from(keyring.encrypt(secret, UPSTREAM_SECRET_CONTEXT))
}

function toUpstreamRecord(row: UpstreamRow, keyring: Keyring): UpstreamRecord {
  return {
    upstreamId: row.upstream_id,
    storeId: row.store_id,
    storeName: row.store_name,
    endpoint: row.endpoint,
    apikey: row.apikey,
    secret: keyring.read(row.secret, UPSTREAM_SECRET_CONTEXT),
    upstreamStore: row.upstream_store,
    alias: row.alias,
    description: row.description,
    isEnabled: row.enabled === 1,
    createdAtUs: row.created_at_us,
    updatedAtUs: row.updated_at_us,
  }
}
