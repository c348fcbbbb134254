import { FROM_TX, type VersionedTable, versionNames } from '../citations/versions.js'
import { identifier } from '../connection/database.js'
import { ROW_ID } from '../tables/ddl.js'
import type { StateColumn } from './column.js'

/**
 * Statements that make a dataset's table of current rows, with its unique key and an R*Tree for each geometry column.
 * How each column is stored is said in comments, which SQLite keeps.
 */
export function createDatasetSql(table: VersionedTable): string[] {
  const { current } = versionNames(table)
  const lines = table.columns.map((column) => `  ${columnSql(column)}`)
  const keys = table.keyColumns.map(identifier)
  return [
    `CREATE TABLE ${current} ( -- dataset ${table.name.replaceAll('\n', ' ')}
${lines.join('\n')}
  ${ROW_ID} INTEGER PRIMARY KEY, -- order of arrival
  ${FROM_TX} INTEGER NOT NULL -- transaction that wrote this version of the row
) STRICT`,
    ...(keys.length === 0
      ? []
      : [`CREATE UNIQUE INDEX ${identifier(`${table.tableName}_key`)} ON ${current} (${keys.join(', ')})`]),
    ...spatialSlots(table).flatMap((slot) => createSpatialSql(table, slot)),
  ]
}

/** Positions of the geometry columns. */
export function spatialSlots(table: VersionedTable): number[] {
  return table.columns.flatMap((column, slot) => (column.srid === null ? [] : [slot]))
}

/** Quoted names of the tables of a dataset that hold its current rows and places. */
export function datasetTables(table: VersionedTable): string[] {
  const names = versionNames(table)
  return [names.current, ...spatialSlots(table).flatMap((slot) => [names.rtree(slot), names.past(slot)])]
}

const BOX = 'min_x, max_x, min_y, max_y'

/** Places of current rows, by row id; and former places of rows that have a history, which citations still need. */
function createSpatialSql(table: VersionedTable, slot: number): string[] {
  const names = versionNames(table)
  return [
    `CREATE VIRTUAL TABLE ${names.rtree(slot)} USING rtree(row_id, ${BOX})`,
    `CREATE VIRTUAL TABLE ${names.past(slot)} USING rtree(place_id, ${BOX}, +row_id INTEGER)`,
  ]
}

/** Writes of one geometry column's places; rows are given by id. */
export interface SpatialSql {
  /** @param row_id, min_x, max_x, min_y, max_y */
  insert: string
  /** keeps the places of rows (a JSON array of ids) that have a history */
  keep: string
  /** takes rows (a JSON array of ids) out of the current places */
  remove: string
}

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
  const collation = type.collation === undefined ? '' : ` COLLATE ${type.collation}`
  const check = type.check === undefined ? '' : ` CHECK (${type.check(sqlName)})`
  return `${sqlName} ${type.sqlType}${collation}${isNullable ? '' : ' NOT NULL'}${check}, -- ${typeText}: ${type.form}`
}
