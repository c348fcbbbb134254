import type { AddColumns } from '../../add-columns.js'
import { requireNew } from '../../records/catalog-row.js'
import { droppedMeanwhile } from '../../records/read-records.js'
import { RESERVED_COLUMNS } from '../../tables.js'
import { addColumnsSql } from './ddl.js'
import { forgetRemovedSums, restartCounting } from './row-digests.js'
import type { TablesContext } from './store.js'
import { lockedState, lockSql } from './table-state.js'

/**
 * Creates what adds columns to tables. The rows stay as they are stored; those of a table with sums are counted
 * again, because their digests have more values now.
 */
export function createAddColumns({ db, catalog }: Pick<TablesContext, 'db' | 'catalog'>): AddColumns {
  return async (ref, columns) =>
    await db.write(
      async (rows, attempt) => {
        const state = lockedState(ref, attempt)
        const table = await catalog.findById(rows, ref.tableId)
        if (table === undefined) throw droppedMeanwhile(ref.dataName) // no test: the table is locked
        const defined = table.columns.slice(RESERVED_COLUMNS.length)
        const added = JSON.stringify(columns)
        // an attempt whose answer was lost has added them
        if (attempt.isRepeat && JSON.stringify(defined.slice(-columns.length)) === added) return table
        requireNew(table.columns, columns)
        const all = JSON.stringify([...defined, ...columns])
        await rows.run('UPDATE loader_table SET columns = $2 WHERE table_id = $1', ref.tableId, all)
        await rows.run(
          'UPDATE loader_state SET column_count = $2, data_version = data_version + 1 WHERE table_id = $1',
          ...[ref.tableId, table.columns.length + columns.length],
        )
        if (state.counted !== null) await restartCounting(rows, ref)
        await forgetRemovedSums(rows, ref)
        const now = await catalog.findById(rows, ref.tableId)
        if (now === undefined) throw droppedMeanwhile(ref.dataName) // no test: the table is locked
        for (const sql of addColumnsSql(now, table.columns.length)) await rows.lists(sql, [], 'once')
        return now
      },
      { first: lockSql(ref) },
    )
}
