import type { ThemeReader } from '../../route-engine/theme-reader.js'
import type { Db } from '../../storage/sqlite/connection/database.js'
import { dataVersionOf, findTable, listTables } from '../../storage/sqlite/tables/catalog.js'
import { readCells } from '../../storage/sqlite/tables/cells.js'
import { changeTimes } from '../../storage/sqlite/tables/changes.js'
import { readTimedCells } from '../../storage/sqlite/tables/timed-cells.js'

/** Creates the reader of risk themes over a connection to the database of tables. */
export function createThemeReader(db: Db): ThemeReader {
  // made once: a wrapper for each call would take as long as the transaction itself
  const transaction = db.transaction((work: () => unknown) => work())
  return {
    inSnapshot: <T>(work: () => T) => transaction.deferred(work) as T, // of the function just given
    withRows: (_names, work) => work(),
    expectInstants: () => undefined, // each is read when its turn comes
    findTable: (dataName) => findTable(db, dataName),
    listTables: () => listTables(db),
    versionOf: (table) => dataVersionOf(db, table),
    changeTimes: (table) => changeTimes(db, table),
    readCells: (table, levelColumn, instantUs, visit) => readCells(db, table, levelColumn, instantUs, visit),
    readTimedCells: (table, levelColumn, span, visit) => readTimedCells(db, table, levelColumn, span, visit),
  }
}
