import type { StateColumn } from '../../columns/state-column.js'
import { checkSql, collateSql, sqlTypeOf } from '../connection/column-sql.js'
import { identifier } from '../connection/database.js'
import { ROW_ID } from '../tables/ddl.js'
import { FROM_TX, versionNames } from '../tables/version-names.js'
import type { VersionedTable } from '../versions/versioned-table.js'

/**
 * Returns the statements that create a dataset's table of current rows, its unique key and an R*Tree for each
 * geometry column. Comments in the SQL, which SQLite keeps, describe how each column is stored.
 */
export function createDatasetSql(table: VersionedTable): string[] {
  const { current } = versionNames(table)
  const lines = table.columns.map((column) => `  ${columnSql(column)}`)
  const keys = table.keyColumns.map(identifier)
  const create = `CREATE TABLE ${current} ( -- dataset ${table.name.replaceAll('\n', ' ')}
${lines.join('\n')}
  ${ROW_ID} INTEGER PRIMARY KEY, -- order of arrival
  ${FROM_TX} INTEGER NOT NULL -- transaction that wrote this version of the row
) STRICT`
  const spatial = spatialSlots(table).flatMap((slot) => createSpatialSql(table, slot))
  if (keys.length === 0) return [create, ...spatial]
  const key = `CREATE UNIQUE INDEX ${identifier(`${table.tableName}_key`)} ON ${current} (${keys.join(', ')})`
  return [create, key, ...spatial]
}

/** Returns the positions of the geometry columns. */
export function spatialSlots(table: VersionedTable): number[] {
  return table.columns.flatMap((column, slot) => (column.srid === null ? [] : [slot]))
}

/** Returns the quoted names of the tables that hold a dataset's current rows and their places. */
export function datasetTables(table: VersionedTable): string[] {
  const names = versionNames(table)
  return [names.current, ...spatialSlots(table).flatMap((slot) => [names.rtree(slot), names.past(slot)])]
}

const BOX = 'min_x, max_x, min_y, max_y'

/**
 * Returns statements for the places of current rows, by row id, and for former places that citations still
 * need.
 */
export function createSpatialSql(table: VersionedTable, slot: number): string[] {
  const names = versionNames(table)
  return [
    `CREATE VIRTUAL TABLE ${names.rtree(slot)} USING rtree(row_id, ${BOX})`,
    `CREATE VIRTUAL TABLE ${names.past(slot)} USING rtree(place_id, ${BOX}, +row_id INTEGER)`,
  ]
}

/** Statements that maintain the places of one geometry column. */
export interface SpatialSql {
  /** bound: row_id, min_x, max_x, min_y, max_y */
  insert: string
  /** copies the places of rows that have a history to the former ones; bound: a JSON array of ids */
  keep: string
  /** removes rows from the current places; bound: a JSON array of ids */
  remove: string
}

/** Returns the statements that maintain the places of a geometry column. @param slot its position */
export function spatialSql(table: VersionedTable, slot: number): SpatialSql {
  const names = versionNames(table)
  const ids = '(SELECT value FROM json_each(?))'
  return {
    insert: `INSERT INTO ${names.rtree(slot)} (row_id, ${BOX}) VALUES (?, ?, ?, ?, ?)`,
    keep: `INSERT INTO ${names.past(slot)} (${BOX}, row_id) SELECT ${BOX}, row_id FROM ${names.rtree(slot)} AS r
      WHERE row_id IN ${ids} AND EXISTS (SELECT 1 FROM ${names.history} AS h WHERE h.${ROW_ID} = r.row_id)`,
    remove: `DELETE FROM ${names.rtree(slot)} WHERE row_id IN ${ids}`,
  }
}

function columnSql({ name, type, isNullable, typeText }: StateColumn): string {
  const sqlName = identifier(name)
  const sqlType = `${sqlTypeOf(type)}${collateSql(type)}${isNullable ? '' : ' NOT NULL'}`
  return `${sqlName} ${sqlType}${checkSql(type, sqlName)}, -- ${typeText}: ${type.form}`
}
