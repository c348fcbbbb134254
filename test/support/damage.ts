import Database from 'better-sqlite3'

/** What a faulty disk, or a fault of the program, does to a row. */
export type Damage = 'dropped' | 'doubled' | 'changed'
export const DAMAGES: readonly Damage[] = ['dropped', 'doubled', 'changed']

/** A row that was damaged. */
export interface DamagedRow {
  /** UUID of the node at which it was first put */
  readonly origin: string
  /** UTC day of its last write there, `YYYY-MM-DD` */
  readonly day: string
}

/**
 * Damages a row of a table below everything that counts rows.
 *
 * @param file data.db
 * @param of table, and the origins (UUIDs of other nodes) whose rows may be damaged
 * @returns the row; undefined when the table has none of these origins
 */
export function damageRow(
  file: string,
  { tableName, origins }: { tableName: string; origins: readonly string[] },
  how: Damage,
  random: () => number,
): DamagedRow | undefined {
  const db = new Database(file, { timeout: 10_000 })
  try {
    const columns = db.pragma(`table_info("${tableName}")`) as { name: string; pk: number }[]
    const id = columns.find(({ pk }) => pk === 1)?.name ?? ''
    const rows = db
      .prepare<[string], { id: number; origin: string; day: number }>(
        `SELECT "${id}" AS id, node_id AS origin, "row day" AS day FROM "${tableName}"
           JOIN row_origin ON origin_id = "row origin" WHERE node_id IN (SELECT value FROM json_each(?)) ORDER BY id`,
      )
      .all(JSON.stringify(origins))
    const row = rows[Math.floor(random() * rows.length)]
    if (row === undefined) return undefined
    if (how === 'dropped') db.prepare(`DELETE FROM "${tableName}" WHERE "${id}" = ?`).run(row.id)
    if (how === 'changed')
      db.prepare(`UPDATE "${tableName}" SET note = note || '!' WHERE "${id}" = ?`).run(row.id)
    if (how === 'doubled') {
      const others = columns.filter(({ name }) => name !== id).map(({ name }) => `"${name}"`)
      db.exec(`DROP INDEX "${tableName}_key"`)
      db.prepare(
        `INSERT INTO "${tableName}" (${others.join()}) SELECT ${others.join()} FROM "${tableName}" WHERE "${id}" = ?`,
      ).run(row.id)
    }
    return { origin: row.origin, day: new Date(row.day * 86_400_000).toISOString().slice(0, 10) }
  } finally {
    db.close()
  }
}
