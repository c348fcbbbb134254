import { droppedMeanwhile, readRecords } from '../../records/read-records.js'
import type { Counters, PutResult, TableStore } from '../../tables.js'
import { createPause } from '../../work/pause.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { type Catalog, createCatalog, dropTable, registerTable } from './catalog.js'
import { findFile, LOCK_FILES, usedDigests } from './files.js'
import { createOrigins, type Origins } from './origins.js'
import { createPuts } from './put-together.js'
import { type Batch, createBatch } from './read-batch.js'

/** Parts shared by all work of one process on loader tables. */
export interface TablesContext {
  readonly db: PostgresDb
  readonly catalog: Catalog
  readonly origins: Origins
  /** id of this process, another one after each start */
  readonly writer: string
  /** most bytes of text, bytes and files of one record together */
  readonly maxValueBytes: number
}

/** Creates what the ports of loader tables of one process share. */
export function createTablesContext(
  db: PostgresDb,
  { writer, maxValueBytes = Number.POSITIVE_INFINITY }: { writer: string; maxValueBytes?: number },
): TablesContext {
  return { db, catalog: createCatalog(), origins: createOrigins(db), writer, maxValueBytes }
}

/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

/**
 * Opens the writing port. The database orders the writers of all processes: what a gateway does about its one file
 * of rows, `moveLog`, `mergeIndex` and `inTurn`, has nothing to do here.
 */
export function createTableStore(context: TablesContext): TableStore {
  const { db, catalog, maxValueBytes } = context
  const puts = createPuts(context)
  return {
    find: (name) => catalog.find(db.read, name),
    list: () => catalog.list(db.read),
    async register(definition, nowUs) {
      const made = await registerTable(db, definition, nowUs)
      return (await catalog.findById(db.read, made.tableId)) ?? made // none: it was dropped at once
    },
    drop: (table) => dropTable(db, table),
    forget: (table) => catalog.forget(table),
    async put(ref, records, options) {
      const table = await catalog.recent(db.read, ref)
      if (table === undefined) throw droppedMeanwhile(ref.dataName)
      const batch = createBatch(readRecords(table, records, options, maxValueBytes))
      await batch.fill(createPause(undefined, options.sliceMs ?? SLICE_MS))
      return resultOf(await puts.run(table, batch, options))
    },
    commitMs: () => 0,
    stage(ref, records, options) {
      const known = catalog.known(ref)
      const batchOf = (table: typeof known): Batch | undefined =>
        table === undefined ? undefined : createBatch(readRecords(table, records, options, maxValueBytes))
      const staged = batchOf(known)
      return {
        // a definition that was not read yet is read by `put`
        advance: (isTime) => staged?.advance(isTime) ?? true,
        async put() {
          const table = known ?? (await catalog.recent(db.read, ref))
          const batch = staged ?? batchOf(table)
          if (table === undefined || batch === undefined) throw droppedMeanwhile(ref.dataName)
          await batch.fill(createPause(undefined, SLICE_MS))
          return resultOf(await puts.run(table, batch, options))
        },
      }
    },
    moveLog: () => undefined,
    mergeIndex: async () => false,
    inTurn: (work) => work(),
    findFile: (table, place) => findFile(db.read, table, place),
    withUsedFiles: (work) => withUsedFiles(context, work),
  }
}

/** Runs work while no call stores files, in any process. */
async function withUsedFiles<T>(
  { db, catalog }: TablesContext,
  work: (used: ReadonlySet<string>) => Promise<T>,
): Promise<T> {
  let done: { readonly result: T } | undefined
  const run = async (rows: Rows) => {
    const used = await usedDigests(rows, await catalog.list(rows))
    done = { result: await keepingAwake(rows, () => work(used)) }
    return done.result
  }
  try {
    return await db.write(run, { first: LOCK_FILES, canRepeat: false }) // `work` removes files
  } catch (error) {
    if (done === undefined) throw error
    return done.result // nothing was to be committed
  }
}

/** Interval of the statements that keep a transaction from being ended as idle, ms. */
const AWAKE_EVERY_MS = 1000

/** Runs work that takes longer than the server waits for the next statement of a transaction. */
async function keepingAwake<T>(rows: Rows, work: () => Promise<T>): Promise<T> {
  let fault: unknown
  const timer = setInterval(() => {
    rows.get('SELECT 1').catch((error: unknown) => {
      fault ??= error
    })
  }, AWAKE_EVERY_MS)
  const result = await work().finally(() => clearInterval(timer))
  if (fault !== undefined) throw fault // no test: the connection was lost, so that the commit would fail as well
  return result
}

function resultOf(counters: Counters): PutResult {
  return { counters, isMergeDue: false }
}
