import { createReadStream } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'
import { digestOf } from '../files/blob-store.js'
import type { Databases, Maintenance, StoredFacts } from '../storage/maintenance.js'
import type { Manifest, StoredBackup } from './manifest.js'
import { readStoredNames } from './names.js'
import { type BackupPlace, openBytes } from './place.js'
import { digestsOf } from './retain.js'

/** Result of verifying a backup. */
export interface Verified {
  name: string
  /** one line per fault with its file, at most 100; empty when a restore gives exactly what was backed up */
  faults: string[]
  rows: number
  blobs: number
  bytes: number
  /** citations whose checksum was computed again and equals the recorded one */
  citations: number
}

interface VerifyOptions {
  readonly maintenance: Maintenance
  /**
   * true checks that the bytes of models and files exist with their sizes, and leaves their digests to the
   * caller
   */
  readonly isBytesReadLater?: boolean
  readonly signal?: AbortSignal | undefined
  onProgress?(fraction: number, what: string): void
}

const MAX_FAULTS = 100

/** Adds a line to the faults. */
type Report = (line: string) => void

/**
 * Reads a whole backup: digests of every file, structure and row counts of the databases, presence of all
 * bytes that rows refer to, and checksums of citations. Writes nothing.
 */
export async function verifyBackup(
  place: BackupPlace,
  { name, dir, manifest }: StoredBackup,
  options: VerifyOptions,
): Promise<Verified> {
  const { databases, facts } = options.maintenance
  const faults: string[] = []
  const report = (line: string) => void (faults.length < MAX_FAULTS && faults.push(line))
  const result: Verified = { name, faults, rows: 0, blobs: 0, bytes: 0, citations: 0 }
  await verifyOwn(dir, manifest, report)
  // a database with a wrong digest is reported once; faults found inside it would add nothing
  if (faults.length === 0) {
    for (const expected of manifest.databases) {
      result.rows += await verifyDatabase(dir, expected, databases, report)
      options.signal?.throwIfAborted()
    }
  }
  // rows of an older schema can be read only after its migration; until then the lists of the manifest count
  const isReadable = manifest.databases.every(
    (one) => one.schemaVersion === databases.knownVersions[one.name],
  )
  if (faults.length === 0 && isReadable) {
    await verifyNames(dir, manifest, options.maintenance, report)
    if (manifest.databases.some((one) => one.name === 'data.db'))
      result.citations = await verifyCitations(dir, manifest, facts, report, options.signal)
  }
  await verifyBytes(place, manifest, result, report, options)
  return result
}

async function verifyOwn(dir: string, manifest: Manifest, report: Report): Promise<void> {
  for (const { name, sha256, sizeBytes } of manifest.own) {
    const file = path.join(dir, name)
    try {
      const found = await digestOf(createReadStream(file))
      if (found.sha256 !== sha256)
        report(
          `${file}: found ${found.sizeBytes} bytes with the SHA-256 ${found.sha256}, expected ${sizeBytes} with ${sha256}`,
        )
    } catch (error) {
      report(`${file}: ${messageOf(error)}`)
    }
  }
}

/** @returns the number of rows in all tables */
async function verifyDatabase(
  dir: string,
  { name, schemaVersion, rows: expected }: Manifest['databases'][number],
  databases: Databases,
  report: Report,
): Promise<number> {
  const file = path.join(dir, name)
  try {
    for (const line of await databases.check(dir, name, 'full')) report(`${file}: ${line}`)
    const { schemaVersion: version, rows } = await databases.facts(dir, name)
    if (version !== schemaVersion)
      report(`${file}: found schema version ${version}, expected ${schemaVersion}`)
    for (const table of new Set([...Object.keys(rows), ...Object.keys(expected)])) {
      if (rows[table] !== expected[table])
        report(
          `${file}: the table ${table} has ${rows[table] ?? 'no'} rows, expected ${expected[table] ?? 'no table'}`,
        )
    }
    return Object.values(rows).reduce((sum, count) => sum + count, 0)
  } catch (error) {
    report(`${file}: ${messageOf(error)}`)
    return 0
  }
}

/** Checks that the manifest lists all bytes that rows refer to, as present or as lost. */
async function verifyNames(
  dir: string,
  manifest: Manifest,
  maintenance: Maintenance,
  report: Report,
): Promise<void> {
  try {
    const { nodeId, models, tableFiles } = await readStoredNames(dir, maintenance)
    if (nodeId !== manifest.nodeId)
      report(`${dir}: found rows of the node ${nodeId}, expected ${manifest.nodeId}`)
    const listed = new Set([...digestsOf(manifest), ...manifest.lost.map(({ sha256 }) => sha256)])
    for (const sha256 of [...models.map((model) => model.sha256), ...tableFiles])
      if (!listed.has(sha256))
        report(`${dir}: a row refers to the bytes ${sha256}, which the manifest does not list`)
  } catch (error) {
    report(messageOf(error))
  }
}

/**
 * Checks that all bytes of a backup that is being made are there, with their sizes.
 *
 * @throws Error in one line with the first fault
 */
export async function proveBytes(
  place: BackupPlace,
  manifest: Manifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const faults: string[] = []
  const result: Verified = { name: '', faults, rows: 0, blobs: 0, bytes: 0, citations: 0 }
  const options: Pick<VerifyOptions, 'isBytesReadLater' | 'signal'> = { isBytesReadLater: true, signal }
  await verifyBytes(place, manifest, result, (line) => void faults.push(line), options)
  const [first] = faults
  if (first !== undefined) throw new Error(`no backup was made, and none was removed: ${first}`)
}

/** @returns the number of citations whose checksum is the recorded one */
async function verifyCitations(
  dir: string,
  { damagedCitations = [] }: Manifest,
  facts: StoredFacts,
  report: Report,
  signal: AbortSignal | undefined,
): Promise<number> {
  let matching = 0
  try {
    for await (const { longForm, found, expected } of facts.checkCitations(dir, signal)) {
      if (found === expected) matching++
      // damaged before the backup, which says so: a restore gives what was backed up
      else if (!damagedCitations.includes(longForm))
        report(`the citation ${longForm}: found the checksum ${found}, expected ${expected}`)
    }
    return matching
  } catch (error) {
    report(messageOf(error))
    return 0
  }
}

async function verifyBytes(
  place: BackupPlace,
  manifest: Manifest,
  result: Verified,
  report: Report,
  options: Pick<VerifyOptions, 'isBytesReadLater' | 'signal' | 'onProgress'>,
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
      report(
        `${path.join(place.bytesDir, sha256.slice(0, 2), sha256)}: ${fault}; remove this file, and the next backup copies it again`,
      )
    result.blobs++
    result.bytes += sizeBytes
    options.onProgress?.(result.bytes / Math.max(1, total), 'files')
  }
}

/** @returns what is wrong with one blob; null when it is intact */
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
    return facts?.sha256 === sha256 ? null : `found bytes with the SHA-256 ${facts?.sha256 ?? '(none)'}`
  } catch (error) {
    return messageOf(error)
  }
}
