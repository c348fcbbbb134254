import type { TrustedClock } from '../../clock.js'
import type { Keyring } from '../../keyring.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'
import { all, type ListFields, type ListQuery, listTail } from './model-list.js'

/** Where models of a store are fed back to. The secret is in the clear here: never log a record. */
export interface UpstreamRecord {
  upstreamId: number
  storeId: number
  storeName: string
  /** as given: a full `https://host/api/v2/fl/jsonrpc`, or a base URL */
  endpoint: string
  apikey: string
  secret: string
  upstreamStore: string
  alias: string
  description: string
  isEnabled: boolean
  createdAtUs: number
  updatedAtUs: number
}

export type NewUpstream = Omit<UpstreamRecord, 'upstreamId' | 'storeName' | 'createdAtUs' | 'updatedAtUs'>
export type UpstreamChange = Partial<NewUpstream>

/** Upstream information. Secrets are encrypted at rest. */
export interface UpstreamRows {
  create(upstream: NewUpstream): Promise<UpstreamRecord>
  find(upstreamId: number): Promise<UpstreamRecord | undefined>
  /** of a store, in the order they were made */
  ofStore(storeId: number): Promise<UpstreamRecord[]>
  list(query: ListQuery): Promise<UpstreamRecord[]>
  update(upstreamId: number, change: UpstreamChange): Promise<UpstreamRecord | undefined>
  /** the record that went */
  remove(upstreamId: number): Promise<UpstreamRecord | undefined>
}

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
/** A stored secret opens only as what it is: another encrypted value put in its place does not. */
export const UPSTREAM_SECRET_CONTEXT = 'upstream.secret'

export function createUpstreamRows(state: StateDb, clock: TrustedClock, keyring: Keyring): UpstreamRows {
  const { db } = state
  const toRecord = (row: UpstreamRow) => toUpstreamRecord(row, keyring)
  const find = (upstreamId: number) => {
    const row = statement<UpstreamRow>(db, `${SELECT} WHERE u.upstream_id = ?`).get(upstreamId)
    return row === undefined ? undefined : toRecord(row)
  }
  return {
    create: (upstream) =>
      writeState(state, () => {
        const nowUs = clock.nowUs()
        const { lastInsertRowid } = statement(
          db,
          `INSERT INTO upstream (store_id, endpoint, apikey, secret, upstream_store, alias, description, enabled,
             created_at_us, updated_at_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(...valuesOf(upstream, keyring), nowUs, nowUs)
        return found(find(Number(lastInsertRowid)))
      }),
    find: async (upstreamId) => find(upstreamId),
    ofStore: async (storeId) =>
      statement<UpstreamRow>(db, `${SELECT} WHERE u.store_id = ? ORDER BY u.upstream_id`)
        .all(storeId)
        .map(toRecord),
    async list(query) {
      const tail = listTail(FIELDS, 'u.upstream_id', query)
      return all<UpstreamRow>(db, `${SELECT} WHERE ${tail.sql}`, tail.values).map(toRecord)
    },
    update: (upstreamId, change) =>
      writeState(state, () => {
        const old = find(upstreamId)
        if (old === undefined) return undefined
        statement(
          db,
          `UPDATE upstream SET store_id = ?, endpoint = ?, apikey = ?, secret = ?, upstream_store = ?, alias = ?,
             description = ?, enabled = ?, updated_at_us = ? WHERE upstream_id = ?`,
        ).run(...valuesOf({ ...old, ...change }, keyring), clock.nowUs(), upstreamId)
        return find(upstreamId)
      }),
    remove: (upstreamId) =>
      writeState(state, () => {
        const old = find(upstreamId)
        statement(db, 'DELETE FROM upstream WHERE upstream_id = ?').run(upstreamId)
        return old
      }),
  }
}

function valuesOf(upstream: NewUpstream, keyring: Keyring): unknown[] {
  return [
    upstream.storeId,
    upstream.endpoint,
    upstream.apikey,
    Buffer.from(keyring.encrypt(upstream.secret, UPSTREAM_SECRET_CONTEXT)),
    upstream.upstreamStore,
    upstream.alias,
    upstream.description,
    upstream.isEnabled ? 1 : 0,
  ]
}

function toUpstreamRecord(row: UpstreamRow, keyring: Keyring): UpstreamRecord {
  return {
    upstreamId: row.upstream_id,
    storeId: row.store_id,
    storeName: row.store_name,
    endpoint: row.endpoint,
    apikey: row.apikey,
    secret: keyring.decrypt(row.secret, UPSTREAM_SECRET_CONTEXT),
    upstreamStore: row.upstream_store,
    alias: row.alias,
    description: row.description,
    isEnabled: row.enabled === 1,
    createdAtUs: row.created_at_us,
    updatedAtUs: row.updated_at_us,
  }
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('an upstream that was just written is not there')
  return row
}
