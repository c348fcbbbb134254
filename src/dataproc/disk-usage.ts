import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, readdir, rm } from 'node:fs/promises'
import path from 'node:path'

/** What directories hold. */
export interface DiskUsage {
  /** as the disk has it, holes left out */
  bytes: number
  files: number
}

/** Deeper trees and more files cost more to look at than any run has need of. */
const MAX_FILES = 100_000
const MAX_DEPTH = 64

/**
 * Adds up what lies in directories. Links are not followed; what goes while it is looked at is not counted.
 *
 * @returns with `files` Infinity when there are too many, or too deep
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
 * Removes a tree that somebody else filled: with directories that cannot be entered, and deeper than a path can name.
 *
 * @throws Error when something is left
 */
export async function removeTree(dir: string): Promise<void> {
  try {
    await rm(dir, { recursive: true, force: true })
  } catch {
    // the system's own programs go down step by step, without long paths
    await run('chmod', ['-R', 'u+rwX', '--', dir])
    await run('rm', ['-rf', '--', dir])
    if ((await ifReadable(lstat(dir))) !== undefined) throw new Error(`${dir} cannot be removed`)
  }
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: 'ignore' })
  await once(child, 'close')
}

/** Undefined for what has gone or may not be looked at. */
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
