import { typeOf } from '../../columns/column-types.js'
import type { MovedTable } from '../../move.js'
import { toTable } from '../../records/catalog-row.js'
import { type Db, identifier, statement } from '../connection/database.js'
import { tableSql } from '../tables/ddl.js'

/** Most bytes of a key that the other engine holds. */
const MAX_KEY_BYTES = 2600

/** Lists what keeps rows from being stored on the other side. */
export function findFaults(data: Db, tables: readonly MovedTable[]): string[] {
  return [...pendingCitations(data), ...longKeys(data, tables)]
}

/** Finds citations without a checksum: nothing computes it in an archive that is only read. */
function pendingCitations(data: Db): string[] {
  const sql = 'SELECT count(*) FROM citation WHERE checksum IS NULL OR page_digests IS NULL'
  const count = Number(statement(data, sql).pluck().get())
  return count === 0
    ? []
    : [`found ${count} citation(s) without their checksum: serve the directory until it is computed`]
}

function longKeys(data: Db, tables: readonly MovedTable[]): string[] {
  return tables.flatMap(({ definition }) => {
    const table = toTable(definition)
    const long = table.uniqueColumns.filter((name) => {
      const column = table.columnByName.get(name)
      const kind = column === undefined ? undefined : typeOf(column.udtName).kind
      return column?.isEncrypted === true || kind === 'text' || kind === 'bytes'
    })
    if (long.length === 0) return []
    const bytes = long.map((name) => `coalesce(length(CAST(${identifier(name)} AS BLOB)), 0)`).join(' + ')
    const sql = `SELECT count(*) FROM ${tableSql(table)} WHERE ${bytes} > ${MAX_KEY_BYTES}`
    const count = Number(statement(data, sql).pluck().get())
    return count === 0
      ? []
      : [
          `${table.dataName}: found ${count} rows with a key of more than ${MAX_KEY_BYTES} bytes: an index of PostgreSQL holds no longer one`,
        ]
  })
}
