import type { PostgresDb, Rows } from './database.js'

/**
 * Runs a write that changes rows, and counts each of them once: after a commit whose answer was lost, a repeat finds
 * rows as the earlier attempt left them.
 *
 * @param work returns the numbers of the rows that it has changed
 */
export function countChanged(
  db: PostgresDb,
  work: (rows: Rows) => Promise<readonly number[]>,
): Promise<number> {
  const changed = new Set<number>()
  return db.write(async (rows, { isRepeat }) => {
    if (!isRepeat) changed.clear()
    for (const id of await work(rows)) changed.add(id)
    return changed.size
  })
}
