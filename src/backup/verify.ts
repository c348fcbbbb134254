import { createReadStream, existsSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'
import { digestOf } from '../files/blob-store.js'
import { allCitations } from '../storage/sqlite/citations/catalog.js'
import { computeSums } from '../storage/sqlite/citations/checksum.js'
import { openDataReader } from '../storage/sqlite/connection/data-db.js'
import type { Db } from '../storage/sqlite/connection/database.js'
import { checkDatabase, countRows, schemaVersionOf } from '../storage/sqlite/connection/database-facts.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { KNOWN_VERSIONS } from '../storage/sqlite/connection/versions.js'
import type { Manifest, StoredBackup } from './manifest.js'
import { readStateNames, readTableFileNames } from './names.js'
import { type BackupPlace, openBytes } from './place.js'
import { digestsOf } from './retain.js'

/** What a backup was found to be. */
export interface Verified {
  name: string
  /** lines that say what is wrong and where; empty when a restore gives what was backed up */
  faults: string[]
  rows: number
  blobs: number
  bytes: number
  /** citations whose checksum was worked out again and is the recorded one */
  citations: number
}

export interface VerifyOptions {
  /** leaves reading the bytes of models and files to the caller, who reads them anyway; that they are there is seen */
  isBytesReadLater?: boolean
  signal?: AbortSignal | undefined
  onProgress?(fraction: number, what: string): void
}

const MAX_FAULTS = 100

/**
 * Reads a backup through: digests of every file, the structure and the row counts of the databases, whether everything
 * that rows name is there, and the checksums of citations. Writes nothing.
 */
export async function verifyBackup(
  place: BackupPlace,
  { name, dir, manifest }: StoredBackup,
  options: VerifyOptions = {},
): Promise<Verified> {
  const faults: string[] = []
  const say = (line: string) => void (faults.length < MAX_FAULTS && faults.push(line))
  const result: Verified = { name, faults, rows: 0, blobs: 0, bytes: 0, citations: 0 }
  await verifyOwn(dir, manifest, say)
  // what SQLite says of a file that is known to be another one would only be in the way
  if (faults.length === 0) {
    for (const { name: file, schemaVersion, rows } of manifest.databases) {
      result.rows += verifyDatabase(path.join(dir, file), schemaVersion, rows, say)
      options.signal?.throwIfAborted()
    }
  }
  // of an older schema the rows are read after its migration; until then the list of the manifest stands
  const isReadable = manifest.databases.every((one) => one.schemaVersion === KNOWN_VERSIONS[one.name])
  if (faults.length === 0 && isReadable) {
    verifyNames(dir, manifest, say)
    result.citations = await verifyCitations(dir, manifest, say, options)
  }
  await verifyBytes(place, manifest, result, say, options)
  return result
}

type Say = (line: string) => void

async function verifyOwn(dir: string, manifest: Manifest, say: Say): Promise<void> {
  for (const { name, sha256, sizeBytes } of manifest.own) {
    const file = path.join(dir, name)
    try {
      const found = await digestOf(createReadStream(file))
      if (found.sha256 !== sha256)
        say(
          `${file}: found ${found.sizeBytes} bytes of the SHA-256 ${found.sha256}, expected ${sizeBytes} of ${sha256}`,
        )
    } catch (error) {
      say(`${file}: ${messageOf(error)}`)
    }
  }
}

/** @returns rows of all tables */
function verifyDatabase(
  file: string,
  schemaVersion: number,
  expected: Record<string, number>,
  say: Say,
): number {
  const db = openForChecks(file)
  try {
    for (const line of checkDatabase(db, 'full')) say(`${file}: ${line}`)
    const version = schemaVersionOf(db)
    if (version !== schemaVersion) say(`${file}: found schema version ${version}, expected ${schemaVersion}`)
    const rows = countRows(db)
    for (const table of new Set([...Object.keys(rows), ...Object.keys(expected)])) {
      if (rows[table] !== expected[table])
        say(
          `${file}: the table ${table} has ${rows[table] ?? 'no'} rows, expected ${expected[table] ?? 'no table'}`,
        )
    }
    return Object.values(rows).reduce((sum, count) => sum + count, 0)
  } catch (error) {
    say(`${file}: ${messageOf(error)}`)
    return 0
  } finally {
    db.close()
  }
}

/** Indexes of `data.db` are made with functions of ours: without them they cannot be checked. */
function openForChecks(file: string): Db {
  return path.basename(file) === 'data.db' ? openDataReader(file) : openPlain(file, true)
}

/** What the rows name is what the manifest lists, or is known to have been lost. */
function verifyNames(dir: string, manifest: Manifest, say: Say): void {
  try {
    const { nodeId, models } = readStateNames(path.join(dir, 'state.db'))
    if (nodeId !== manifest.nodeId)
      say(`${dir}: found rows of the node ${nodeId}, expected ${manifest.nodeId}`)
    const data = path.join(dir, 'data.db')
    const tableFiles = existsSync(data) ? readTableFileNames(data) : []
    const listed = new Set([...digestsOf(manifest), ...manifest.lost.map(({ sha256 }) => sha256)])
    for (const sha256 of [...models.map((model) => model.sha256), ...tableFiles])
      if (!listed.has(sha256)) say(`${dir}: a row names the bytes ${sha256}, the manifest does not list them`)
  } catch (error) {
    say(messageOf(error))
  }
}

async function verifyCitations(
  dir: string,
  manifest: Manifest,
  say: Say,
  options: VerifyOptions,
): Promise<number> {
  if (!manifest.databases.some(({ name }) => name === 'data.db')) return 0
  const db = openDataReader(path.join(dir, 'data.db'))
  try {
    let right = 0
    for (const citation of allCitations(db)) {
      options.signal?.throwIfAborted()
      const { longForm, checksum } = citation.info
      if (checksum === null) continue // it was not worked out yet; the restored gateway does it
      const found = await computeSums(db, citation)
      if (found.checksum === checksum) right++
      else say(`the citation ${longForm}: found the checksum ${found.checksum}, expected ${checksum}`)
    }
    return right
  } catch (error) {
    say(messageOf(error))
    return 0
  } finally {
    db.close()
  }
}

async function verifyBytes(
  place: BackupPlace,
  manifest: Manifest,
  result: Verified,
  say: Say,
  options: VerifyOptions,
): Promise<void> {
  const bytes = openBytes(place)
  const entries = new Map([
    ...manifest.models,
    ...manifest.tableFiles,
    ...manifest.files.map(({ sha256, sizeBytes }): [string, number] => [sha256, sizeBytes]),
  ])
  const total = [...entries.values()].reduce((sum, sizeBytes) => sum + sizeBytes, 0)
  for (const [sha256, sizeBytes] of entries) {
    options.signal?.throwIfAborted()
    const fault = await faultOf(bytes, sha256, sizeBytes, options.isBytesReadLater === true)
    if (fault !== null)
      say(
        `${path.join(place.bytesDir, sha256.slice(0, 2), sha256)}: ${fault}; remove it, and the next backup brings it again`,
      )
    result.blobs++
    result.bytes += sizeBytes
    options.onProgress?.(result.bytes / Math.max(1, total), 'files')
  }
}

async function faultOf(
  bytes: ReturnType<typeof openBytes>,
  sha256: string,
  sizeBytes: number,
  isSizeOnly: boolean,
): Promise<string | null> {
  try {
    const found = await bytes.stat(sha256)
    if (found?.sizeBytes !== sizeBytes)
      return `found ${found?.sizeBytes ?? 'no'} bytes, expected ${sizeBytes}`
    if (isSizeOnly) return null
    const source = await bytes.open(sha256)
    const facts = source === undefined ? undefined : await digestOf(source)
    return facts?.sha256 === sha256 ? null : `found bytes of the SHA-256 ${facts?.sha256 ?? '(none)'}`
  } catch (error) {
    return messageOf(error)
  }
}
