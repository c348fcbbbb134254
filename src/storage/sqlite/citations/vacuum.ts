import {
  type Db,
  forgetStatements,
  identifier,
  retryBusy,
  statement,
  transaction,
  type WriteLock,
} from '../connection/database.js'
import type { Pause } from '../connection/pause.js'
import { spatialSlots } from '../datasets/ddl.js'
import { ROW_ID } from '../tables/ddl.js'
import { allVersioned } from './catalog.js'
import { FROM_TX, TO_TX, VERSION_ID, type VersionedTable, versionNames } from './versions.js'

export interface VacuumOptions {
  db: Db
  lock: WriteLock
  /** called between steps; a step holds the write lock for a few milliseconds */
  pause: Pause
  onProgress?: (done: VacuumCounts) => void
}

export interface VacuumCounts {
  /** row versions that no citation saw */
  versions: number
  /** tables of deleted datasets, and histories of loader tables that are cited no more */
  tables: number
}

/** Versions looked at in one step. */
const STEP_ROWS = 2000

/**
 * Removes row versions that no citation sees, and tables that nothing names. What a citation sees stays: a version goes
 * only when no citation has its transaction within the version's range, and no later citation can have. Works beside a
 * running gateway.
 */
export async function vacuumVersions(options: VacuumOptions): Promise<VacuumCounts> {
  const done: VacuumCounts = { versions: 0, tables: 0 }
  for (const table of allVersioned(options.db)) await vacuumTable(options, table, done)
  done.tables = await dropDiscarded(options, Infinity)
  return done
}

/**
 * Drops tables that nothing names.
 *
 * @param maxRows larger ones are left, for dropping takes about 0.3 µs a row and cannot be interrupted
 */
export async function dropDiscarded(
  options: Pick<VacuumOptions, 'db' | 'lock' | 'pause'>,
  maxRows: number,
): Promise<number> {
  const { db } = options
  const names = statement<string>(db, 'SELECT table_name FROM dropped_table ORDER BY table_name')
    .pluck()
    .all()
  let dropped = 0
  for (const name of names) {
    await options.pause()
    if (maxRows !== Infinity && isLarger(db, name, maxRows)) continue
    await write(options, () => {
      db.exec(`DROP TABLE IF EXISTS ${identifier(name)}`)
      statement(db, 'DELETE FROM dropped_table WHERE table_name = ?').run(name)
    })
    forgetStatements(db, identifier(name))
    dropped++
  }
  return dropped
}

async function vacuumTable(options: VacuumOptions, table: VersionedTable, done: VacuumCounts): Promise<void> {
  const { db } = options
  const { history } = versionNames(table)
  const last = statement<number | null>(db, `SELECT max(${VERSION_ID}) FROM ${history}`).pluck().get() ?? 0
  const before = done.versions
  const remove = `DELETE FROM ${history} AS h WHERE ${VERSION_ID} > ? AND ${VERSION_ID} <= ? AND NOT EXISTS (
    SELECT 1 FROM citation AS c WHERE c.versioned_id = ? AND c.tx >= h.${FROM_TX} AND c.tx < h.${TO_TX})`
  for (let after = 0; after < last; after += STEP_ROWS) {
    done.versions += await write(
      options,
      () => statement(db, remove).run(after, after + STEP_ROWS, table.versionedId).changes,
    )
    options.onProgress?.(done)
  }
  if (done.versions === before) return
  await vacuumGone(options, table)
  for (const slot of spatialSlots(table)) {
    if (table.kind === 'dataset') await vacuumPlaces(options, table, slot)
  }
}

/** Ids of gone rows without any version left. */
async function vacuumGone(options: VacuumOptions, table: VersionedTable): Promise<void> {
  const { gone, history } = versionNames(table)
  const remove = `DELETE FROM ${gone} WHERE ${ROW_ID} IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM ${history} AS h WHERE h.${ROW_ID} = ${gone}.${ROW_ID})`
  await removeInSteps(
    options,
    `SELECT ${ROW_ID} FROM ${gone} WHERE ${ROW_ID} > ? ORDER BY ${ROW_ID} LIMIT ?`,
    remove,
  )
}

/** Former places of rows without any version left; the R*Tree's own list of its ids is read, which is in order. */
async function vacuumPlaces(options: VacuumOptions, table: VersionedTable, slot: number): Promise<void> {
  const { past, history } = versionNames(table)
  const name = past(slot)
  const list = `SELECT rowid FROM ${name.slice(0, -1)}_rowid" WHERE rowid > ? ORDER BY rowid LIMIT ?`
  const remove = `DELETE FROM ${name} WHERE place_id IN (SELECT p.place_id FROM json_each(?) AS i
    CROSS JOIN ${name} AS p ON p.place_id = i.value
    WHERE NOT EXISTS (SELECT 1 FROM ${history} AS h WHERE h.${ROW_ID} = p.row_id))`
  await removeInSteps(options, list, remove)
}

/** @param list ids after one, at most so many. @param remove those of a JSON array of ids that are to go */
async function removeInSteps(options: VacuumOptions, list: string, remove: string): Promise<void> {
  const { db } = options
  for (let after = 0; ; ) {
    const ids = statement<number>(db, list).pluck().all(after, STEP_ROWS)
    const last = ids.at(-1)
    if (last === undefined) return
    await write(options, () => statement(db, remove).run(JSON.stringify(ids)))
    after = last
  }
}

async function write<T>(
  { db, lock, pause }: Pick<VacuumOptions, 'db' | 'lock' | 'pause'>,
  work: () => T,
): Promise<T> {
  await pause()
  return await lock.run(() => retryBusy(() => transaction(db, work)))
}

/** R*Trees count as large as the rows in their list. */
function isLarger(db: Db, name: string, maxRows: number): boolean {
  const sql = (of: string) => `SELECT coalesce(max(rowid), 0) > ? FROM ${identifier(of)}`
  const isVirtual = statement(db, "SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE 'CREATE VIRTUAL%'")
  const isThere = statement(db, 'SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined
  if (!isThere) return false
  const of = isVirtual.get(name) === undefined ? name : `${name}_rowid`
  return db.prepare<unknown[], number>(sql(of)).pluck().get(maxRows) === 1
}
