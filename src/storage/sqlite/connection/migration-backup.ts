import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { messageOf } from '../../../errors.js'
import { openPlain } from './snapshot.js'

/** Space left free in addition to what the backup and the migration need. */
const MARGIN_BYTES = 16 * 1024 * 1024
/** Copies of the database written: the backup, and a log that may contain every page once. */
const COPIES = 2

/** Folder beside the databases with a copy of each from before its last migration. */
const UPGRADES_DIR = 'upgrades'

/** Returns the free bytes that the file system of a directory has for this user. */
type FreeSpace = (dir: string) => number

/**
 * Copies a database before its schema changes: `upgrades/state.db.v2` is `state.db` of schema version 2. Only
 * the newest copy of each database is kept. The caller holds the write lock, so nothing is written between
 * the copy and the migration.
 *
 * @throws Error with found and expected space if the disk has too little; nothing is changed then
 */
export function backupBeforeMigration(file: string, from: number, freeSpace: FreeSpace = statFree): void {
  const dir = path.join(path.dirname(file), UPGRADES_DIR)
  requireRoom(file, from, freeSpace)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const name = path.basename(file)
  const copy = path.join(dir, `${name}.v${from}`)
  const part = `${copy}.part`
  try {
    rmSync(part, { force: true })
    copyInto(file, part)
    renameSync(part, copy)
    syncPath(dir)
  } catch (error) {
    rmSync(part, { force: true })
    throw new Error(
      `${file} was not migrated because its backup ${copy} failed: ${messageOf(error)}; make room, and start again`,
      { cause: error },
    )
  }
  for (const other of readdirSync(dir))
    if (other.startsWith(`${name}.v`) && other !== path.basename(copy)) rmSync(path.join(dir, other))
}

function requireRoom(file: string, from: number, freeSpace: FreeSpace): void {
  const sizeOf = (of: string) => statSync(of, { throwIfNoEntry: false })?.size ?? 0
  const expected = COPIES * (sizeOf(file) + sizeOf(`${file}-wal`)) + MARGIN_BYTES
  const found = freeSpace(path.dirname(file))
  if (found >= expected) return
  throw new Error(
    `${file} (schema version ${from}) was not migrated: found ${found} bytes free, expected ${expected} for its backup and the migration; make room, and start again`,
  )
}

function statFree(dir: string): number {
  const { bavail, bsize } = statfsSync(dir)
  return bavail * bsize
}

/**
 * Copies by a second connection, which sees the database as it was before the transaction of the migration.
 */
function copyInto(file: string, to: string): void {
  const reader = openPlain(file, true)
  try {
    reader.prepare('VACUUM INTO ?').run(to)
  } finally {
    reader.close()
  }
  syncPath(to)
}

function syncPath(file: string): void {
  const fd = openSync(file, 'r')
  fsyncSync(fd)
  closeSync(fd)
}
