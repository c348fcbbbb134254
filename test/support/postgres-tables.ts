import { randomUUID } from 'node:crypto'
import type { PostgresDb } from '../../src/storage/postgres/connection/database.js'
import { createFeatureSources } from '../../src/storage/postgres/features/sources.js'
import { createTableChanges } from '../../src/storage/postgres/table-reads/changes.js'
import { createTableReader } from '../../src/storage/postgres/table-reads/reader.js'
import { createAddColumns } from '../../src/storage/postgres/tables/add-columns.js'
import {
  createTableStore,
  createTablesContext,
  type TablesContext,
} from '../../src/storage/postgres/tables/store.js'
import { commitCutter } from './commit-cutter.js'
import { type TablesWorld, type WorldOptions, worldOf } from './conformance/tables/world.js'
import { migratedDatabases, openDb, optionsFor } from './postgres.js'

/** Limits that a slow machine keeps: these tests break nothing. */
const PATIENT = {
  connections: 6,
  connectMs: 20_000,
  waitMs: 60_000,
  statementMs: 60_000,
  commitMs: 60_000,
  repeatMs: 60_000,
}

/** Loader tables of a hub process in a test. */
export interface PostgresTables extends TablesWorld {
  readonly db: PostgresDb
  readonly context: TablesContext
  /** Opens the tables as another process of the same hub. */
  another(): PostgresTables
}

interface Teardown {
  teardown(work: () => unknown): unknown
}

/**
 * Starts a server.
 *
 * @param isCut decides for the n-th commit whether its answer is lost
 * @returns a function that opens tables in a database of its own
 */
export async function postgresTables(
  t: Teardown,
  isCut?: (commits: number) => boolean,
): Promise<(t: Teardown, options?: WorldOptions) => Promise<PostgresTables>> {
  const { server, make } = await migratedDatabases(t)
  const { host } = isCut === undefined ? server : await commitCutter(t, server.host, isCut)
  return async (t, options = {}) => {
    const name = await make()
    const open = (): PostgresTables => {
      const db = openDb(t, optionsFor([host], name, { limits: PATIENT }))
      const { valueBytes } = options
      const context = createTablesContext(db, {
        writer: randomUUID(),
        ...(valueBytes === undefined ? {} : { maxValueBytes: valueBytes }),
      })
      const world = worldOf(options, (reading) => {
        const reader = createTableReader(context, reading)
        return {
          ...{ reader, store: createTableStore(context), changes: createTableChanges(context) },
          addColumns: createAddColumns(context),
          features: (isOpen) => createFeatureSources(db, { tables: reader, isOpen }),
        }
      })
      return { ...world, db, context, another: open }
    }
    return open()
  }
}
