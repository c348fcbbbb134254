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

/** Owner only, not writable: nobody may put another program in place of it. */
const FILE_MODE = 0o500

/**
 * Makes a file of the addon and loads it: the system loads shared objects from files only. The file is kept under its
 * digest, and a kept one is used when its bytes are still the same ones.
 *
 * Tried in order: `FIELDGATE_NATIVE_DIR`, the unit's cache and runtime directories, the temporary directory, and
 * `offeredDir`. A directory that cannot be written, or whose file system forbids programs (noexec), is passed over.
 *
 * @param sha256 of `bytes`, when the build noted it
 * @throws Error in one line with what was wrong with each directory
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
  const temporary = path.join(os.tmpdir(), `fieldgate-native-${process.getuid?.() ?? 0}`)
  const all = [FIELDGATE_NATIVE_DIR, ...ofUnit, temporary, offeredDir]
  return all.filter((dir): dir is string => dir !== undefined && dir !== '')
}

/** @throws Error when another user could put files there */
function makeSafe(dir: string): void {
  // one level only: what it lies in must be there
  if (!existsSync(dir)) mkdirSync(dir, { mode: 0o700 })
  const found = lstatSync(dir)
  const isOurs = found.uid === 0 || found.uid === process.getuid?.()
  if (!found.isDirectory() || !isOurs || (found.mode & 0o022) !== 0)
    throw new Error(`${dir} can be written by others`)
}

/** @returns path of a file with exactly these bytes */
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
    return false // not there yet, or not readable: it is written anew
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
