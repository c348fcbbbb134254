import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { messageOf } from '../errors.js'
import { checkValue } from '../messages/fault-text.js'
import { type BackupPlace, PART } from './place.js'

const Digest = z.string().regex(/^[0-9a-f]{64}$/)
const Bytes = z.int().min(0)

/** Files in the folder of a backup, beside its manifest. */
const OWN_NAMES = ['state.db', 'data.db', 'secret.key', 'edge.config.json'] as const

/** Path relative to the data directory. A restore writes to it, so it must not lead outside. */
const RelativePath = z
  .string()
  .max(4096)
  .refine(
    (text) =>
      /^(?:maps|modules|dataproc\/applications)\//.test(text) &&
      !text.split('/').some((part) => part === '' || part === '.' || part === '..') &&
      !text.includes('\0'),
    'expected a path below maps/, modules/ or dataproc/applications/',
  )

const ManifestSchema = z.strictObject({
  format: z.literal(1),
  /** grows by one with each backup of a place; the order of backups, because times can be wrong */
  sequence: z.int().min(1),
  madeAtUs: z.int(),
  /** false when the wall clock showed a time before the last recorded one */
  isClockTrusted: z.boolean(),
  nodeId: z.string().max(100),
  /** of the program that made the backup */
  version: z.string().max(100),
  own: z.array(z.strictObject({ name: z.enum(OWN_NAMES), sha256: Digest, sizeBytes: Bytes })),
  databases: z.array(
    z.strictObject({
      name: z.enum(['state.db', 'data.db']),
      schemaVersion: z.int().min(0),
      rows: z.record(z.string(), z.int().min(0)),
    }),
  ),
  /** bytes of models and of file columns: digest and size */
  models: z.array(z.tuple([Digest, Bytes])),
  tableFiles: z.array(z.tuple([Digest, Bytes])),
  /** other files of the data directory */
  files: z.array(
    z.strictObject({ path: RelativePath, sha256: Digest, sizeBytes: Bytes, isExecutable: z.boolean() }),
  ),
  /** bytes that rows refer to and that were missing or damaged when the backup was made */
  lost: z.array(z.strictObject({ sha256: Digest, kind: z.enum(['model', 'file']), reason: z.string() })),
  /** long forms of citations whose rows did not have their checksum when the backup was made; absent for none */
  damagedCitations: z.array(z.string()).min(1).optional(),
  /** files outside the data directory that settings refer to: not in the backup */
  outside: z.array(z.string()),
})

export type Manifest = z.output<typeof ManifestSchema>
export type OwnName = (typeof OWN_NAMES)[number]

/** A backup with its manifest. */
export interface StoredBackup {
  /** name of its folder */
  readonly name: string
  readonly dir: string
  readonly manifest: Manifest
}

/** A folder among the backups whose manifest cannot be read. */
export interface BadBackup {
  readonly name: string
  readonly fault: string
}

const FILE = 'manifest.json'

/**
 * `00000012-20261121T234556Z`: names sort in the order in which backups were made, whatever the clock showed.
 */
export function backupName(sequence: number, madeAtUs: number): string {
  const at = new Date(madeAtUs / 1000).toISOString().replace(/[-:]|\.\d+/g, '')
  return `${String(sequence).padStart(8, '0')}-${at}`
}

/** Writes and syncs the manifest of a folder. Its first line holds the SHA-256 of the second. */
export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  const body = JSON.stringify(manifest)
  const handle = await open(path.join(dir, FILE), 'wx', 0o600)
  try {
    await handle.writeFile(`{"sha256":"${digestOfText(body)}","manifest":\n${body}\n}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** @throws Error in one line that says why the manifest cannot be used */
function readManifest(dir: string): Manifest {
  const file = path.join(dir, FILE)
  const lines = readFileSync(file, 'utf8').split('\n')
  const [, sha256] = /^\{"sha256":"([0-9a-f]{64})","manifest":$/.exec(lines[0] ?? '') ?? []
  const body = lines[1] ?? ''
  if (sha256 === undefined) throw new Error(`${file} is not the manifest of a backup`)
  if (digestOfText(body) !== sha256)
    throw new Error(`${file} is damaged: found the SHA-256 ${digestOfText(body)}, expected ${sha256}`)
  const value: unknown = JSON.parse(body)
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined
  if (typeof format === 'number' && format > 1)
    throw new Error(
      `${file} has the format ${format}, this Fieldgate reads format 1: install a newer Fieldgate`,
    )
  const checked = checkValue(ManifestSchema, value)
  if ('data' in checked) return checked.data
  const [fault] = checked.faults
  throw new Error(`${file} cannot be used: ${fault?.path.join('.')}: ${fault?.message}`)
}

/** Lists the backups of a place, oldest first, and the unreadable ones; incomplete folders are left out. */
export function listBackups(place: BackupPlace): { backups: StoredBackup[]; bad: BadBackup[] } {
  const names = existsSync(place.backupsDir) ? readdirSync(place.backupsDir).sort() : []
  const backups: StoredBackup[] = []
  const bad: BadBackup[] = []
  for (const name of names) {
    if (name.endsWith(PART)) continue
    const dir = path.join(place.backupsDir, name)
    try {
      backups.push({ name, dir, manifest: readManifest(dir) })
    } catch (error) {
      bad.push({ name, fault: messageOf(error) })
    }
  }
  return { backups: backups.sort((a, b) => a.manifest.sequence - b.manifest.sequence), bad }
}

/** Finds the newest backup of a place, or the named one. @throws Error in one line when there is none */
export function chooseBackup(place: BackupPlace, name?: string): StoredBackup {
  const { backups, bad } = listBackups(place)
  const damaged = bad.find((one) => one.name === name)
  if (damaged !== undefined) throw new Error(`the backup ${name} cannot be used: ${damaged.fault}`)
  const found = name === undefined ? backups.at(-1) : backups.find((one) => one.name === name)
  if (found !== undefined) return found
  if (name !== undefined)
    throw new Error(
      `${place.root} holds no backup named ${name}: expected one of ${backups.map((one) => one.name).join(', ') || '(none)'}`,
    )
  const [first] = bad
  if (first !== undefined) throw new Error(`no backup in ${place.root} can be used: ${first.fault}`)
  throw new Error(`${place.root} holds no backup: give the directory that was given to \`fieldgate backup\``)
}

function digestOfText(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}
