import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import { layoutOf } from '../../src/files/layout.js'

/** What a gateway writes down by itself, whatever it is asked. */
const OWN_NOTES = [/^meta: .*last_seen_us/]

/** Every row of both databases and every file of a data directory, to show that nothing changed. */
export function dumpDataDir(dataDir: string): string[] {
  const layout = layoutOf(dataDir)
  return [...rowsOf(layout.stateDb), ...rowsOf(layout.dataDb), ...filesOf(dataDir)]
}

function rowsOf(file: string): string[] {
  const db = new Database(file, { readonly: true })
  try {
    const names = db
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
      )
      .pluck()
      .all() as string[]
    return names
      .flatMap((name) =>
        (db.prepare(`SELECT * FROM "${name}"`).safeIntegers().all() as Record<string, unknown>[]).map(
          // the time of the last use is noted about once a minute
          ({ last_used_at_us: _, ...row }) => `${name}: ${JSON.stringify(row, textOf)}`,
        ),
      )
      .filter((line) => !OWN_NOTES.some((note) => note.test(line)))
  } finally {
    db.close()
  }
}

function textOf(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

/** Save the databases' own: their logs grow and shrink by themselves, and the reserve of deletions is made. */
function filesOf(dataDir: string): string[] {
  return readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/\.db(-wal|-shm|-journal)?$|^delete\.reserve/.test(name))
    .map((name) => ({ name, stat: statSync(path.join(dataDir, name)) }))
    .filter(({ stat }) => stat.isFile())
    .map(({ name, stat }) => `${name}: ${stat.size} bytes`)
    .sort()
}
