import type { LoaderTable } from '../../tables.js'
import { ORIGIN_COLUMN } from '../../tables.js'
import { type Db, identifier, statement, writtenRow } from '../connection/database.js'
import { ROW_ORIGIN, ROW_SENDER } from './ddl.js'

/** SQL of the node of a row's origin, over the alias `t`. */
export const ORIGIN_SQL = `(SELECT o.node_id FROM row_origin AS o WHERE o.origin_id = t.${ROW_ORIGIN})`

/** SQL of the node that sent a row, over the alias `t`; null for rows of this gateway. */
export const SENDER_SQL = `(SELECT s.node_id FROM row_origin AS s WHERE s.origin_id = t.${ROW_SENDER})`

/**
 * Returns the id of an origin in `row_origin`; a new one for a node that was never named before. The caller
 * has begun a transaction.
 *
 * @param nodeId UUID of the node; empty for this gateway, whose id is 0
 */
export function keepOrigin(db: Db, nodeId: string): number {
  if (nodeId === '') return 0
  const find = statement<number>(db, 'SELECT origin_id FROM row_origin WHERE node_id = ?').pluck()
  const known = find.get(nodeId)
  if (known !== undefined) return known
  statement(db, 'INSERT INTO row_origin (node_id) VALUES (?)').run(nodeId)
  return writtenRow(find.get(nodeId))
}

/** Returns the SQL of a readable column over the alias `t`. */
export function readableSql(table: LoaderTable, name: string): string {
  const isOrigin = name === ORIGIN_COLUMN.name && !table.columnByName.has(name)
  return isOrigin ? ORIGIN_SQL : `t.${identifier(name)}`
}
