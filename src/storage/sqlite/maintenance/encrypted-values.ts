import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Db, identifier } from '../connection/database.js'
import { openPlain } from '../connection/snapshot.js'
import { hasTable } from './database-facts.js'

/**
 * Returns whether a data directory holds values that were encrypted and would be lost: secrets of upstreams, keys of the
 * node that other nodes know, or rows of tables with encrypted columns. Databases of any schema are read, and left as they are.
 */
export function hasEncryptedValues(dir: string): boolean {
  return (
    finds(dir, 'state.db', 'upstream', hasRows('upstream')) ||
    finds(dir, 'state.db', 'sync_upstream', hasRows('sync_upstream')) ||
    finds(dir, 'state.db', 'node_key', hasKnownKeys) ||
    finds(dir, 'data.db', 'loader_table', hasSecretRows)
  )
}

function finds(dir: string, name: string, table: string, look: (db: Db) => boolean): boolean {
  const file = path.join(dir, name)
  if (!existsSync(file)) return false
  const db = openPlain(file, true)
  try {
    return hasTable(db, table) && look(db)
  } finally {
    db.close()
  }
}

/** True for keys of the node that others know: peers of bundles, a hub, and members of a fleet. */
function hasKnownKeys(db: Db): boolean {
  const knowing = ['node_peer', 'fleet_membership', 'fleet_member'].filter((table) => hasTable(db, table))
  return hasRows('node_key')(db) && knowing.some((table) => hasRows(table)(db))
}

function hasRows(table: string): (db: Db) => boolean {
  return (db) => db.prepare(`SELECT 1 FROM ${identifier(table)} LIMIT 1`).get() !== undefined
}

function hasSecretRows(db: Db): boolean {
  const names = db
    .prepare<[], string>(
      `SELECT DISTINCT table_name FROM loader_table, json_each(columns)
       WHERE json_extract(json_each.value, '$.isEncrypted')`,
    )
    .pluck()
    .all()
  return names.some((name) => hasRows(name)(db))
}
