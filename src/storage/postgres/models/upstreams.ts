import { randomUUID } from 'node:crypto'
import type { Keyring } from '../../keyring.js'
import {
  type NewUpstream,
  UPSTREAM_SECRET_CONTEXT,
  type UpstreamRecord,
  type UpstreamRows,
} from '../../models/upstreams.js'
import type { TrustedClock } from '../../work/clock.js'
import { readStoredText, storedText } from '../connection/any-text.js'
import type { PostgresDb, Rows, Value } from '../connection/database.js'
import { writtenRow } from '../connection/written-row.js'
import { type ListFields, listTail } from '../lists/list-tail.js'

type UpstreamRow = Omit<UpstreamRecord, 'secret'> & { secret: Uint8Array }

const FIELDS: ListFields = {
  id: { sql: 'u.upstream_id', type: 'int8' },
  model_store_ddc: { sql: 's.name', type: 'text' },
  model_store_ddc_id: { sql: 'NULL::bigint', type: 'int8' },
  model_store_dataset_id: { sql: 'u.store_id', type: 'int8' },
  upstream_endpoint: { sql: 'u.endpoint', type: 'text', isAnyText: true },
  upstream_apikey: { sql: 'u.apikey', type: 'text', isAnyText: true },
  upstream_model_store_ddc: { sql: 'u.upstream_store', type: 'text', isAnyText: true },
  alias: { sql: 'u.alias', type: 'text', isAnyText: true },
  description: { sql: 'u.description', type: 'text', isAnyText: true },
  enabled: { sql: 'u.enabled::int', type: 'bool' },
  created_at: { sql: 'u.created_at_us', type: 'timestamptz' },
  updated_at: { sql: 'u.updated_at_us', type: 'timestamptz' },
}

const SELECT = `SELECT u.upstream_id AS "upstreamId", u.store_id AS "storeId", s.name AS "storeName", u.endpoint, u.apikey,
    u.secret, u.upstream_store AS "upstreamStore", u.alias, u.description, u.enabled AS "isEnabled",
    u.created_at_us AS "createdAtUs", u.updated_at_us AS "updatedAtUs"
  FROM upstream AS u JOIN model_store AS s USING (store_id)`
const BY_ID = `${SELECT} WHERE u.upstream_id = $1`
const INSERT = `INSERT INTO upstream (store_id, endpoint, apikey, secret, upstream_store, alias, description, enabled,
  created_at_us, updated_at_us, made_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10)`
const UPDATE = `UPDATE upstream SET store_id = $1, endpoint = $2, apikey = $3, secret = $4, upstream_store = $5,
  alias = $6, description = $7, enabled = $8, updated_at_us = $9 WHERE upstream_id = $10`

/** Creates the rows of upstreams. */
export function createUpstreamRows(db: PostgresDb, clock: TrustedClock, keyring: Keyring): UpstreamRows {
  const toRecord = (row: UpstreamRow) => toUpstreamRecord(row, keyring)
  const encrypted = (secret: string) => Buffer.from(keyring.encrypt(secret, UPSTREAM_SECRET_CONTEXT))
  const find = async (rows: Rows, upstreamId: number) => {
    const row = await rows.get<UpstreamRow>(BY_ID, upstreamId)
    return row === undefined ? undefined : toRecord(row)
  }
  return {
    create(upstream) {
      const [madeBy, nowUs, secret] = [randomUUID(), clock.nowUs(), encrypted(upstream.secret)]
      return db.write(async (rows, { isRepeat }) => {
        const own = () => rows.get<UpstreamRow>(`${SELECT} WHERE u.made_by = $1`, madeBy)
        const made = isRepeat ? await own() : undefined
        if (made === undefined) await rows.run(INSERT, ...valuesOf(upstream, secret), nowUs, madeBy)
        return toRecord(writtenRow(made ?? (await own())))
      })
    },
    find: (upstreamId) => find(db.read, upstreamId),
    ofStore: async (storeId) =>
      (await db.read.all<UpstreamRow>(`${SELECT} WHERE u.store_id = $1 ORDER BY u.upstream_id`, storeId)).map(
        toRecord,
      ),
    async list(query) {
      const { sql, values } = listTail(FIELDS, 'u.upstream_id', query)
      return (await db.read.once<UpstreamRow>(`${SELECT} WHERE ${sql}`, ...values)).map(toRecord)
    },
    update(upstreamId, change) {
      const nowUs = clock.nowUs()
      const newSecret = change.secret === undefined ? undefined : encrypted(change.secret)
      return db.write(async (rows) => {
        const old = await rows.get<UpstreamRow>(`${BY_ID} FOR UPDATE OF u`, upstreamId)
        if (old === undefined) return undefined
        const values = valuesOf({ ...toRecord(old), ...change }, newSecret ?? old.secret)
        await rows.run(UPDATE, ...values, nowUs, upstreamId)
        return await find(rows, upstreamId)
      })
    },
    async remove(upstreamId) {
      const old = await find(db.read, upstreamId)
      if (old === undefined) return undefined
      const isRemoved = await db.write(async (rows, { isRepeat }) => {
        const removed = await rows.run('DELETE FROM upstream WHERE upstream_id = $1', upstreamId)
        return removed > 0 || isRepeat
      })
      // no test: another process would have to remove it since the first line
      return isRemoved ? old : undefined
    },
  }
}

/** Values of the columns `store_id` to `enabled`, in the order of `INSERT` and `UPDATE`. */
function valuesOf(upstream: Omit<NewUpstream, 'secret'>, secret: Uint8Array): Value[] {
  return [
    upstream.storeId,
    storedText(upstream.endpoint),
    storedText(upstream.apikey),
    secret,
    storedText(upstream.upstreamStore),
    storedText(upstream.alias),
    storedText(upstream.description),
    upstream.isEnabled,
  ]
}

function toUpstreamRecord(row: UpstreamRow, keyring: Keyring): UpstreamRecord {
  return {
    ...row,
    endpoint: readStoredText(row.endpoint),
    apikey: readStoredText(row.apikey),
    secret: keyring.read(row.secret, UPSTREAM_SECRET_CONTEXT),
    upstreamStore: readStoredText(row.upstreamStore),
    alias: readStoredText(row.alias),
    description: readStoredText(row.description),
  }
}
