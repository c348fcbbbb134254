import { mkdir, readdir, rename, stat, unlink, utimes } from 'node:fs/promises'
import path from 'node:path'

/** Copies of objects on this disk, for threads that need a path. */
export interface LocalCopies {
  /**
   * Returns the path of a copy, made by `fetch` if there is none. It stays for ten minutes at least.
   *
   * @param fetch writes the bytes to a path; false when there are none
   */
  path(sha256: string, fetch: (file: string) => Promise<boolean>): Promise<string | undefined>
  remove(sha256: string): Promise<void>
}

/** Time that a copy stays after its path was given, ms: who got it may not have opened it yet. */
const STAY_MS = 600_000

/**
 * Creates the copies in a directory. The least used go while all take more than `maxBytes`.
 *
 * @param nowMs wall clock, which the file system has as well
 */
export function createLocalCopies(
  dir: string,
  maxBytes: number,
  nowMs: () => number = Date.now,
): LocalCopies {
  const fetching = new Map<string, Promise<string | undefined>>()
  const fileOf = (sha256: string) => path.join(dir, sha256)
  const find = async (sha256: string): Promise<string | undefined> => {
    const file = fileOf(sha256)
    try {
      const now = nowMs() / 1000
      await utimes(file, now, now)
      return file
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }
  const make = async (sha256: string, fetch: (file: string) => Promise<boolean>) => {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    const part = `${fileOf(sha256)}.part`
    if (!(await fetch(part))) return undefined
    const now = nowMs() / 1000
    await utimes(part, now, now)
    await rename(part, fileOf(sha256))
    await shrink(dir, maxBytes, nowMs())
    return fileOf(sha256)
  }
  return {
    async path(sha256, fetch) {
      const found = await find(sha256)
      if (found !== undefined) return found
      const running = fetching.get(sha256) ?? make(sha256, fetch).finally(() => fetching.delete(sha256))
      fetching.set(sha256, running)
      return await running
    },
    async remove(sha256) {
      await unlinkIfThere(fileOf(sha256))
    },
  }
}

/** Removes the copies that were used least recently. */
async function shrink(dir: string, maxBytes: number, nowMs: number): Promise<void> {
  const copies: { file: string; bytes: number; usedMs: number }[] = []
  for (const name of await readdir(dir)) {
    if (!/^[0-9a-f]{64}$/.test(name)) continue
    const file = path.join(dir, name)
    const found = await stat(file).catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    })
    if (found !== undefined) copies.push({ file, bytes: found.size, usedMs: found.mtimeMs })
  }
  copies.sort((a, b) => a.usedMs - b.usedMs)
  let bytes = copies.reduce((sum, copy) => sum + copy.bytes, 0)
  for (const copy of copies) {
    if (bytes <= maxBytes || nowMs - copy.usedMs < STAY_MS) return
    await unlinkIfThere(copy.file)
    bytes -= copy.bytes
  }
}

async function unlinkIfThere(file: string): Promise<void> {
  try {
    await unlink(file)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
