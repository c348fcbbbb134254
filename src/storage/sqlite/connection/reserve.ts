import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { isAppError } from '../../../errors.js'

/** Space kept for deletions on a full disk: a deletion writes a few pages to the log. */
const RESERVE_BYTES = 1024 * 1024

/** File of zeros beside the databases that is given up when a deletion finds no space. */
export interface Reserve {
  /** Makes the file again where space allows. */
  refill(): void
  /** Removes the file. Returns false when there was none. */
  release(): boolean
}

/** Creates the reserve of a database. @param file `state.db`, or `:memory:`, which needs none */
export function createReserve(file: string): Reserve {
  const reserve = path.join(path.dirname(file), 'delete.reserve')
  return {
    refill() {
      if (file === ':memory:' || existsSync(reserve)) return
      const handle = openSync(reserve, 'wx', 0o600)
      try {
        writeSync(handle, Buffer.alloc(RESERVE_BYTES))
        fsyncSync(handle)
        closeSync(handle)
      } catch {
        closeSync(handle)
        rmSync(reserve) // no space yet: the next round tries again
      }
    },
    release() {
      if (!existsSync(reserve)) return false
      rmSync(reserve)
      return true
    },
  }
}

/** Runs a deletion; on a full disk once more after the reserve was given up. @throws what `work` throws */
export async function withReserve<T>(reserve: Reserve, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isAppError(error) || error.errorName !== 'DISK_FULL' || !reserve.release()) throw error
    return await work()
  }
}
