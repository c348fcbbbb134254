import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { messageOf } from '../errors.js'
import { syncDirectory } from './switch.js'

/** A release that did not work on this machine, or that an operator took back. */
export interface RolledBack {
  /** of the executable, hex */
  readonly sha256: string
  readonly version: string
  readonly reason: string
  /** ISO 8601, UTC */
  readonly at: string
}

/** Releases that are remembered. */
const MAX_KEPT = 20

/** Returns the path of the record beside an executable. */
export function recordOf(executable: string): string {
  return `${executable}.rolled-back`
}

/**
 * Reads the releases that were rolled back, the newest first.
 *
 * @throws Error in one line for a record that cannot be read
 */
export function readRolledBack(executable: string): RolledBack[] {
  const file = recordOf(executable)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  try {
    const found: unknown = JSON.parse(text)
    if (!Array.isArray(found) || !found.every(isRolledBack)) throw new Error('found another form')
    return found
  } catch (error) {
    throw new Error(
      `${file}: ${messageOf(error)}, expected the list that \`fieldgate update\` writes; remove it to go on`,
      { cause: error },
    )
  }
}

/** Notes a release that was rolled back. When it returns, the note survives a power cut. */
export function noteRolledBack(executable: string, release: RolledBack): void {
  const others = readRolledBack(executable).filter(({ sha256 }) => sha256 !== release.sha256)
  write(executable, [release, ...others].slice(0, MAX_KEPT))
}

/** Removes the note of a release. @param sha256 undefined for all releases */
export function forgetRolledBack(executable: string, sha256?: string): void {
  const before = readRolledBack(executable)
  const after = sha256 === undefined ? [] : before.filter((one) => one.sha256 !== sha256)
  if (after.length === before.length) return
  write(executable, after)
}

function isRolledBack(one: unknown): one is RolledBack {
  if (typeof one !== 'object' || one === null) return false
  return ['sha256', 'version', 'reason', 'at'].every(
    (name) => typeof (one as Record<string, unknown>)[name] === 'string', // an object: any member may be asked for
  )
}

function write(executable: string, releases: readonly RolledBack[]): void {
  const file = recordOf(executable)
  const temp = `${file}.${process.pid}`
  try {
    const fd = openSync(temp, 'wx', 0o600)
    try {
      writeFileSync(fd, `${JSON.stringify(releases)}\n`)
      // the user of the gateway reads it, whatever the umask is
      fchmodSync(fd, 0o644)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(temp, file)
  } finally {
    rmSync(temp, { force: true })
  }
  syncDirectory(file)
}
