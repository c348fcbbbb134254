import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { messageOf } from '../../../errors.js'

/**
 * Readable and executable by the owner alone, and not writable: the program cannot be replaced through it.
 */
const FILE_MODE = 0o500

/**
 * Writes the addon to a file and loads it, because the operating system loads shared objects from files only.
 * The file is named by its digest and reused while its bytes are unchanged.
 *
 * Tried in order: `FIELDGATE_NATIVE_DIR`, the cache and runtime directories of the systemd unit, the
 * temporary directory, and `offeredDir`. A directory that cannot be written, or whose file system forbids
 * programs (noexec), is skipped.
 *
 * @param sha256 digest of `bytes`, if the build recorded it
 * @throws Error in one line with the fault of each directory
 */
export function unpackAddon(
  bytes: Uint8Array,
  sha256: string | undefined,
  offeredDir: string | undefined,
  load: (file: string) => object,
): object {
  const digest = sha256 ?? digestOf(bytes)
  const refused: string[] = []
  for (const dir of directories(offeredDir)) {
    try {
      makeSafe(dir)
      return load(keep(dir, bytes, digest))
    } catch (error) {
      refused.push(messageOf(error))
    }
  }
  const why = refused.join('; ')
  throw new Error(
    `no directory to unpack the SQLite addon to (${why}): set FIELDGATE_NATIVE_DIR to one that may hold programs`,
  )
}

function directories(offeredDir: string | undefined): string[] {
  const { FIELDGATE_NATIVE_DIR, CACHE_DIRECTORY, RUNTIME_DIRECTORY } = process.env
  // systemd separates several directories by colons
  const ofUnit = [CACHE_DIRECTORY, RUNTIME_DIRECTORY].map((dirs) => dirs?.split(':')[0])
  // no test: every system that programs are built for has user ids
  const temporary = path.join(os.tmpdir(), `fieldgate-native-${process.getuid?.() ?? 0}`)
  const all = [FIELDGATE_NATIVE_DIR, ...ofUnit, temporary, offeredDir]
  return all.filter((dir): dir is string => dir !== undefined && dir !== '')
}

/** Creates the directory if it is missing. @throws Error if another user could put files there */
function makeSafe(dir: string): void {
  // one level only: the parent must exist
  if (!existsSync(dir)) mkdirSync(dir, { mode: 0o700 })
  const found = lstatSync(dir)
  const isOurs = found.uid === 0 || found.uid === process.getuid?.()
  if (!found.isDirectory() || !isOurs || (found.mode & 0o022) !== 0)
    throw new Error(`${dir} can be written by others`)
}

/** Returns the path of a file with exactly these bytes, writing it if needed. */
function keep(dir: string, bytes: Uint8Array, digest: string): string {
  const file = path.join(dir, `better_sqlite3-${digest.slice(0, 32)}.node`)
  if (isKept(file, digest)) return file
  const fresh = `${file}.${process.pid}-${performance.now()}.tmp`
  const fd = openSync(fresh, 'wx', FILE_MODE)
  try {
    let written = 0
    while (written < bytes.length) written += writeSync(fd, bytes, written)
    fsyncSync(fd)
  } catch (error) {
    // no test: needs a disk that is full
    rmSync(fresh, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  renameSync(fresh, file)
  return file
}

function isKept(file: string, digest: string): boolean {
  try {
    return digestOf(readFileSync(file)) === digest
  } catch {
    return false // missing or unreadable: written again
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
