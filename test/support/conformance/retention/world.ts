import type { Test } from 'tap'
import type { Stored } from '../../../../src/storage/columns/column-type.js'
import type { TableDigests } from '../../../../src/storage/exchange/table-digests.js'
import type { RetentionRows } from '../../../../src/storage/retention.js'
import { createTableDigests } from '../../../../src/storage/sqlite/feeds/table-digests.js'
import { createRetentionStore } from '../../../../src/storage/sqlite/retention/store.js'
import { changeTimes } from '../../../../src/storage/sqlite/tables/changes.js'
import { putSentRows } from '../../../../src/storage/sqlite/tables/sent-rows.js'
import type { LoaderTable } from '../../../../src/storage/tables.js'
import { READINGS, READINGS_KEY } from '../../retention.js'
import { openSqliteTables, type TablesWorld } from '../tables/world.js'

/** Loader tables of one engine, and the rules by which their rows go. */
export interface RetentionWorld extends TablesWorld {
  readonly rules: RetentionRows
  readonly digests: TableDigests
  /** instants at which rows begin or end, as they are kept */
  instants(table: LoaderTable): Promise<bigint[]>
  /** Stores a row of another node. */
  putSent(table: LoaderTable, origin: string, day: number, values: readonly Stored[]): Promise<void>
}

export type OpenRetention = (t: Test) => Promise<RetentionWorld>

/** A table of readings, and the rules of its engine. */
export async function openRules(t: Test, open: OpenRetention) {
  const tables = await open(t)
  const table = await tables.register('readings', [...READINGS], [...READINGS_KEY])
  return { tables, table, store: tables.rules }
}

/** Opens the rules of SQLite, in memory. */
export async function openSqliteRetention(t: Test): Promise<RetentionWorld> {
  const tables = await openSqliteTables(t)
  const { data, files } = tables
  return {
    ...tables,
    rules: createRetentionStore(data, async (digest) => files.get(digest)?.length ?? 0),
    digests: createTableDigests(data),
    instants: async (table) => [...(changeTimes(data.reader, table) ?? [])],
    async putSent(table, origin, day, values) {
      const sent = { origin, sender: origin, rows: [{ day, version: 1, values }] }
      data.writer.exec('BEGIN')
      await putSentRows(data.writer, table, sent, async () => undefined)
      data.writer.exec('COMMIT')
    },
  }
}
