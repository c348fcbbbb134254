import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

/** Disk space and files in directories. */
interface DiskUsage {
  /** blocks on disk: holes do not count */
  bytes: number
  files: number
}

/** Limits of a scan; no run needs more files or deeper trees. */
const MAX_FILES = 100_000
const MAX_DEPTH = 64

/**
 * Adds up the files in directories. Links are not followed; files that disappear meanwhile are not counted.
 *
 * @returns `files` is Infinity when there are more than 100,000, or the tree is deeper than 64
 */
export async function diskUsage(dirs: readonly string[]): Promise<DiskUsage> {
  const usage: DiskUsage = { bytes: 0, files: 0 }
  const waiting = dirs.map((dir) => ({ dir, depth: 0 }))
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { dir, depth } = next
    const entries = await ifReadable(readdir(dir, { withFileTypes: true }))
    for (const entry of entries ?? []) {
      if (++usage.files > MAX_FILES || depth > MAX_DEPTH) return { ...usage, files: Number.POSITIVE_INFINITY }
      const found = path.join(dir, entry.name)
      if (entry.isDirectory()) waiting.push({ dir: found, depth: depth + 1 })
      else usage.bytes += ((await ifReadable(lstat(found)))?.blocks ?? 0) * 512
    }
  }
  return usage
}

/**
 * Removes a tree that untrusted code filled, also with directories without permissions or deeper than a path
 * can name.
 *
 * @throws Error when a part of it remains
 */
export async function removeTree(dir: string): Promise<void> {
  try {
    await rm(dir, { recursive: true, force: true })
  } catch {
    // these programs descend directory by directory, without long paths
    await run('chmod', ['-R', 'u+rwX', '--', dir])
    await run('rm', ['-rf', '--', dir])
    if ((await ifReadable(lstat(dir))) !== undefined) throw new Error(`${dir} cannot be removed`)
  }
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: 'ignore' })
  await once(child, 'close')
}

/** Returns undefined for paths that disappeared or cannot be read. */
async function ifReadable<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES' || code === 'ENAMETOOLONG')
      return undefined
    throw error
  }
}
