import type { MovedValue } from '../../move.js'
import type { PostgresDb, Rows } from '../connection/database.js'

/** Prefix of the notes of how far a move is; they go when it is done. */
const PREFIX = 'move:'
/** Note of the move itself: JSON of `Move`. */
const MOVE = 'moved_from'

/** Origin of a hub that was made by a move. */
export interface Move {
  /** node id, which the hub goes on with */
  readonly node: string
  readonly isDone: boolean
}

const KEEP = 'INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value'

/** Reads how far a table is. @returns key of its last row; undefined for none */
export async function progressOf(rows: Rows, name: string): Promise<MovedValue[] | undefined> {
  const found = await rows.get<{ value: string }>('SELECT value FROM meta WHERE name = $1', PREFIX + name)
  return found === undefined ? undefined : (JSON.parse(found.value) as string[]).map(readKey)
}

/** Notes how far a table is, in the transaction of its rows. */
export async function noteProgress(rows: Rows, name: string, key: readonly MovedValue[]): Promise<void> {
  await rows.run(KEEP, PREFIX + name, JSON.stringify(key.map(keyText)))
}

/** Reads whether a hub was made of a data directory, or is being made. */
export async function findMove({ read }: Pick<PostgresDb, 'read'>): Promise<Move | undefined> {
  const found = await read.get<{ value: string }>('SELECT value FROM meta WHERE name = $1', MOVE)
  return found === undefined ? undefined : (JSON.parse(found.value) as Move)
}

/** Notes a move. At its end the notes of its progress go. */
export async function noteMove(rows: Rows, move: Move): Promise<void> {
  await rows.run(KEEP, MOVE, JSON.stringify(move))
  if (move.isDone) await rows.run(`DELETE FROM meta WHERE starts_with(name, '${PREFIX}')`)
}

/** @throws Error in one line while a move into this hub is not done */
export async function requireNoMove(db: Pick<PostgresDb, 'read'>): Promise<void> {
  const move = await findMove(db)
  if (move?.isDone === false)
    throw new Error(
      `a move of the node ${move.node} into this hub is not done: run \`fieldgate hub migrate\` again with the same settings`,
    )
}

function keyText(value: MovedValue): string {
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString('hex')}`
  return typeof value === 'string' ? `s${value}` : `n${value}`
}

function readKey(text: string): MovedValue {
  const rest = text.slice(1)
  if (text.startsWith('x')) return Buffer.from(rest, 'hex')
  return text.startsWith('s') ? rest : BigInt(rest)
}
