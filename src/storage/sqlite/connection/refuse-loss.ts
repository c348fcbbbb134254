import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { DatabaseName } from '../../maintenance.js'
import type { Db } from './database.js'
import { openFile } from './open-file.js'

/** Name under which `state.db` notes that `data.db` exists. */
export const HAS_DATA = 'has_data'

/** `application_id` of a `data.db` that a command line made before the first start, when no `state.db` was there. */
const MADE_FIRST = 0x66670001

/**
 * Lists what shows that a missing database once existed. An empty list means that it may be created.
 *
 * Maps and modules are no sign: they are copied to a data directory before the first start.
 *
 * @param dir the data directory
 * @param countsLock true before this process took the lock of the directory, which creates `lock.db`
 */
export function tracesOf(dir: string, name: DatabaseName, countsLock: boolean): string[] {
  const at = (...names: string[]) => path.join(dir, ...names)
  if (existsSync(at(name))) return []
  const traces: string[] = []
  if (existsSync(at(`${name}-wal`))) traces.push(`its log ${name}-wal`)
  if (filesIn(at('upgrades')).some((file) => file.startsWith(`${name}.v`)))
    traces.push('its copy in upgrades')
  if (name === 'state.db') {
    if (isServed(at('data.db'))) traces.push('data.db')
    if (hasBlobs(at('models'))) traces.push('the bytes of models')
    if (filesIn(at('parts')).some((file) => file.endsWith('.part'))) traces.push('unfinished uploads')
    if (countsLock && existsSync(at('lock.db'))) traces.push('the lock file of a gateway')
  } else {
    if (hasBlobs(at('files'))) traces.push('the files of table columns')
    if (hasServedData(at('state.db'), existsSync(at('lock.db')))) traces.push('an entry in state.db')
  }
  return traces
}

/** Text of the error for a missing database. @param traces at least one */
export function lossText(dir: string, name: DatabaseName, traces: readonly string[]): string {
  return `${path.join(dir, name)} is missing, but ${traces.join(', ')} show that it existed: put the file back, or restore the newest backup into an empty directory (\`fieldgate restore\`); to start without what it held, run \`fieldgate init --accept-loss\``
}

/**
 * Refuses to create a database where one was lost.
 *
 * @throws Error in one line with what shows that it existed, and what to do
 */
export function refuseLoss(file: string, name: DatabaseName, countsLock = false): void {
  if (file === ':memory:') return
  const dir = path.dirname(file)
  const traces = tracesOf(dir, name, countsLock)
  if (traces.length > 0) throw new Error(lossText(dir, name, traces))
}

/**
 * Marks a new `data.db` beside which no `state.db` exists, and removes the mark once there is one: tables may
 * be imported before the first start of a gateway.
 */
export function markMadeFirst(db: Db, file: string, isNew: boolean): void {
  if (file === ':memory:') return
  const hasState = existsSync(path.join(path.dirname(file), 'state.db'))
  const isMarked = db.pragma('application_id', { simple: true }) === MADE_FIRST
  if (isNew && !hasState) db.pragma(`application_id = ${MADE_FIRST}`)
  else if (isMarked && hasState) db.pragma('application_id = 0')
}

/** True for a `data.db` of a gateway that had a `state.db`. An unreadable one counts: it was of somebody. */
function isServed(file: string): boolean {
  if (!existsSync(file)) return false
  return readWith(file, (db) => db.pragma('application_id', { simple: true }) !== MADE_FIRST) ?? true
}

/** True when `state.db` knows that there was a `data.db`. @param hasLock true where a gateway has run */
function hasServedData(file: string, hasLock: boolean): boolean {
  if (!existsSync(file)) return false
  const names = readWith(file, (db) =>
    db.prepare<[], string>("SELECT name FROM meta WHERE name IN ('has_data', 'last_seen_us')").pluck().all(),
  )
  if (names === undefined) return false // not readable: its own error says so
  return names.includes(HAS_DATA) || (hasLock && names.includes('last_seen_us'))
}

/** Reads a database that may be damaged, locked, or without tables; undefined when it cannot be read. */
function readWith<T>(file: string, read: (db: Db) => T): T | undefined {
  let db: Db | undefined
  try {
    db = openFile(file, { readonly: true, fileMustExist: true })
    return read(db)
  } catch {
    return undefined // the caller decides what an unreadable file means
  } finally {
    db?.close()
  }
}

function hasBlobs(dir: string): boolean {
  return filesIn(dir).some(
    (folder) =>
      (/^[0-9a-f]{2}$/.test(folder) && filesIn(path.join(dir, folder)).length > 0) || folder === 'quarantine',
  )
}

function filesIn(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : []
}
