import type { DatabaseSpace, Vacuum, VacuumCounts } from '../../datasets/citations.js'
import type { DataDb } from '../connection/data-db.js'
import { type Db, retryBusy, statement } from '../connection/database.js'
import { spatialSlots } from '../datasets/ddl.js'
import { ROW_ID } from '../tables/ddl.js'
import { FROM_TX, TO_TX, VERSION_ID, versionNames } from '../tables/version-names.js'
import { dropDiscarded, type Removal, removalStep } from '../versions/discarded.js'
import type { VersionedTable } from '../versions/versioned-table.js'
import { allVersioned } from './catalog.js'

/** Row versions tested in one step. */
const STEP_ROWS = 2000

/** Opens the vacuum of data.db. A version goes only when no citation, present or future, can see it. */
export function createVacuum({ writer: db, lock }: Pick<DataDb, 'writer' | 'lock'>): Vacuum {
  return {
    async run(pause, onProgress) {
      const done: VacuumCounts = { versions: 0, tables: 0 }
      for (const table of allVersioned(db)) {
        await vacuumTable({ db, lock, pause }, table, (versions) => {
          done.versions += versions
          onProgress?.(done)
        })
      }
      done.tables = await dropDiscarded({ db, lock, pause }, Infinity)
      return done
    },
    async compact() {
      await retryBusy(() => {
        db.pragma('auto_vacuum = INCREMENTAL') // from now on the file gives space back by itself
        db.exec('VACUUM')
      })
      db.pragma('wal_checkpoint(TRUNCATE)') // the log holds a copy of the rewritten database
    },
    space: async () => spaceOf(db),
  }
}

function spaceOf(db: Db): DatabaseSpace {
  const read = (name: string) => Number(db.pragma(name, { simple: true }))
  const pageBytes = read('page_size')
  return { freeBytes: read('freelist_count') * pageBytes, totalBytes: read('page_count') * pageBytes }
}

async function vacuumTable(
  removal: Removal,
  table: VersionedTable,
  onRemoved: (versions: number) => void,
): Promise<void> {
  const { db } = removal
  const { history } = versionNames(table)
  const last = statement<number | null>(db, `SELECT max(${VERSION_ID}) FROM ${history}`).pluck().get() ?? 0
  const remove = `DELETE FROM ${history} AS h WHERE ${VERSION_ID} > ? AND ${VERSION_ID} <= ? AND NOT EXISTS (
    SELECT 1 FROM citation AS c WHERE c.versioned_id = ? AND c.tx >= h.${FROM_TX} AND c.tx < h.${TO_TX})`
  let removed = 0
  for (let after = 0; after < last; after += STEP_ROWS) {
    const { changes } = await removalStep(removal, () =>
      statement(db, remove).run(after, after + STEP_ROWS, table.versionedId),
    )
    removed += changes
    onRemoved(changes)
  }
  if (removed === 0) return
  await vacuumGone(removal, table)
  if (table.kind === 'loader') return
  for (const slot of spatialSlots(table)) await vacuumPlaces(removal, table, slot)
}

/** Removes the ids of deleted rows that have no version left. */
async function vacuumGone(removal: Removal, table: VersionedTable): Promise<void> {
  const { gone, history } = versionNames(table)
  const remove = `DELETE FROM ${gone} WHERE ${ROW_ID} IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM ${history} AS h WHERE h.${ROW_ID} = ${gone}.${ROW_ID})`
  await removeInSteps(
    removal,
    `SELECT ${ROW_ID} FROM ${gone} WHERE ${ROW_ID} > ? ORDER BY ${ROW_ID} LIMIT ?`,
    remove,
  )
}

/**
 * Removes the former places of rows that have no version left. Reads the R*Tree's own list of ids, which is
 * in order.
 */
async function vacuumPlaces(removal: Removal, table: VersionedTable, slot: number): Promise<void> {
  const { past, history } = versionNames(table)
  const name = past(slot)
  const list = `SELECT rowid FROM ${name.slice(0, -1)}_rowid" WHERE rowid > ? ORDER BY rowid LIMIT ?`
  const remove = `DELETE FROM ${name} WHERE place_id IN (SELECT p.place_id FROM json_each(?) AS i
    CROSS JOIN ${name} AS p ON p.place_id = i.value
    WHERE NOT EXISTS (SELECT 1 FROM ${history} AS h WHERE h.${ROW_ID} = p.row_id))`
  await removeInSteps(removal, list, remove)
}

/**
 * Removes rows step by step.
 *
 * @param list statement of the ids after one; bound: that id, and the most ids to return
 * @param remove statement that removes those that nothing needs; bound: a JSON array of ids
 */
async function removeInSteps(removal: Removal, list: string, remove: string): Promise<void> {
  const { db } = removal
  for (let after = 0; ; ) {
    const ids = statement<number>(db, list).pluck().all(after, STEP_ROWS)
    const last = ids.at(-1)
    if (last === undefined) return
    await removalStep(removal, () => statement(db, remove).run(JSON.stringify(ids)))
    after = last
  }
}
