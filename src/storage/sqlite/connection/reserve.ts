import { existsSync, rmSync } from 'node:fs'
import { rename, rm, statfs, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { isAppError } from '../../../errors.js'
import type { Db } from './database.js'
import { isFull } from './open-file.js'

/**
 * Space kept for deletions on a full disk: a deletion writes a few pages to the log, and the log, of some 4 MB,
 * may have to be moved into the database first.
 */
const RESERVE_BYTES = 6 * 1024 * 1024

/** File of zeros beside the databases that is given up when a deletion finds no space. */
export interface Reserve {
  /** Makes the file again where space allows. */
  refill(): Promise<void>
  /** False where the file was given up and is not made again yet; true in memory, which has none. */
  exists(): boolean
  /** Removes the file. Returns false when there was none. */
  release(): boolean
}

/** Creates the reserve of a database. @param file `state.db`, or `:memory:`, which needs none */
export function createReserve(file: string): Reserve {
  const reserve = path.join(path.dirname(file), 'delete.reserve')
  return {
    async refill() {
      if (file === ':memory:' || existsSync(reserve)) return
      const { bavail, bsize } = await statfs(path.dirname(file))
      if (bavail * bsize < 2 * RESERVE_BYTES) return // deletions that run now need what is left
      try {
        await writeFile(`${reserve}.part`, Buffer.alloc(RESERVE_BYTES), { mode: 0o600, flush: true })
        await rename(`${reserve}.part`, reserve)
      } catch {
        await rm(`${reserve}.part`, { force: true }) // no space yet: the next round tries again
      }
    },
    exists: () => file === ':memory:' || existsSync(reserve),
    release() {
      if (file === ':memory:' || !existsSync(reserve)) return false
      rmSync(reserve)
      return true
    },
  }
}

/**
 * Runs a small write that frees space or takes a right away. On a full disk the log is first moved into the
 * database, so that the space of its file can be written over; then the reserve is given up. While there is no
 * reserve, each such write moves the log at once: a log that took all the space could not be moved any more.
 * The caller holds the write lock, if the connection has one.
 *
 * @param work a whole transaction, which may run up to three times
 * @throws what `work` throws; DISK_FULL when its log is larger than the log's file and the reserve together
 */
export async function freeing<T>(db: Db, work: () => T | Promise<T>): Promise<T> {
  const reserve = createReserve(db.name)
  const result = await withRoom(work, [() => restartLog(db), () => reserve.release()])
  if (!reserve.exists()) restartLog(db)
  return result
}

async function withRoom<T>(work: () => T | Promise<T>, makeRoom: readonly (() => unknown)[]): Promise<T> {
  for (const make of makeRoom) {
    try {
      return await work()
    } catch (error) {
      if (!isAppError(error) || error.errorName !== 'DISK_FULL') throw error
    }
    make()
  }
  return await work()
}

/** Moves the log into the database, so that the next commit writes its file from the beginning. */
function restartLog(db: Db): void {
  try {
    db.pragma('wal_checkpoint(RESTART)')
  } catch (error) {
    if (!isFull(error)) throw error // no room to move it either: the next attempt reports that
  }
}
