import { createHash } from 'node:crypto'
import type { MoveSource } from '../../move.js'
import { createMetaStore } from '../access/meta.js'
import type { PostgresDb } from '../connection/database.js'
import { schemaExists } from '../connection/migrate.js'
import { comparePlain, keepNumbers, movePlain } from './plain.js'
import { OF_LOADER_TABLES, PLAIN_TABLES } from './plain-tables.js'
import { findMove, type Move, noteMove } from './progress.js'
import { compareTable, moveTable } from './rows.js'

/** Content of a schema before a move. */
export interface MoveTarget {
  readonly nodeId: string | undefined
  readonly move: Move | undefined
}

/** Listener of long work, which may end it. */
export interface MoveWork {
  onRows(count: number): void
  throwIfStopped(): void
}

/** Reads what a schema holds; undefined for one without tables. */
export async function findTarget(db: PostgresDb): Promise<MoveTarget | undefined> {
  if (!(await schemaExists(db))) return undefined
  return { nodeId: await createMetaStore(db).nodeId(), move: await findMove(db) }
}

/** Notes that a move begins, with the identity that the hub goes on with. A repeat changes nothing. */
export async function beginMove(db: PostgresDb, node: string, fingerprint: string): Promise<void> {
  await db.write(async (rows) => {
    const keep = 'INSERT INTO meta VALUES ($1, $2) ON CONFLICT DO NOTHING'
    await rows.run(keep, 'node_id', node)
    await rows.run(keep, 'key_fingerprint', fingerprint)
    await noteMove(rows, { node, isDone: false })
  })
}

/** Returns the number of rows that a move copies. */
export async function countRows(source: MoveSource): Promise<number> {
  let count = 0
  for (const { name } of [...PLAIN_TABLES, ...OF_LOADER_TABLES]) count += await source.countOf(name)
  for (const { rows } of await source.tables()) count += rows
  return count
}

/** Copies all rows. What an earlier call has copied stays as it is. */
export async function moveRows(db: PostgresDb, source: MoveSource, work: MoveWork): Promise<void> {
  for (const table of PLAIN_TABLES) {
    work.throwIfStopped()
    await movePlain(db, source, table, work.onRows)
  }
  for (const table of await source.tables()) await moveTable(db, source, table, work)
  const lastTable = await source.lastId('loader_table')
  await db.write((rows) => keepNumbers(rows, { name: 'loader_table', identity: 'table_id' }, lastTable))
  for (const table of OF_LOADER_TABLES) await movePlain(db, source, table, work.onRows)
  const { epoch, lastSeenUs } = await source.facts()
  const acts = await source.acts()
  await db.write(async (rows) => {
    const keep = 'INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value'
    await rows.run(keep, 'feed_epoch', String(epoch))
    if (lastSeenUs > 0) await rows.run(keep, 'last_seen_us', String(lastSeenUs))
    const act = 'INSERT INTO audit_note VALUES ($1, $2, $3) ON CONFLICT DO NOTHING'
    for (const { name, atUs, event } of acts) await rows.run(act, idOf(name), atUs, event)
  })
}

/** Compares all rows of both sides. @returns what differs */
export async function compareRows(db: PostgresDb, source: MoveSource, work: MoveWork): Promise<string[]> {
  const faults: string[] = []
  for (const table of [...PLAIN_TABLES, ...OF_LOADER_TABLES]) {
    work.throwIfStopped()
    faults.push(...(await comparePlain(db, source, table)))
    work.onRows(await source.countOf(table.name))
  }
  const tables = await source.tables()
  for (const table of tables) {
    work.throwIfStopped()
    faults.push(...(await compareTable(db, source, table, work.onRows)))
  }
  const count = await db.read.get<{ n: number }>('SELECT count(*) AS n FROM loader_table')
  if (count?.n !== tables.length) faults.push(`found ${count?.n} loader tables, expected ${tables.length}`)
  const { epoch } = await source.facts()
  const found = await createMetaStore(db).noted('feed_epoch')
  if (found !== String(epoch)) faults.push(`found the epoch ${found} of change numbers, expected ${epoch}`)
  return faults
}

/** Notes that a move is done. */
export async function endMove(db: PostgresDb, node: string): Promise<void> {
  await db.write((rows) => noteMove(rows, { node, isDone: true }))
}

/** Makes the same id of an act at each repeat. */
function idOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}
