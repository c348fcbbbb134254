import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { messageOf } from '../errors.js'
import { type BackupPlace, PART } from './place.js'

const Digest = z.string().regex(/^[0-9a-f]{64}$/)
const Bytes = z.int().min(0)

/** What lies in the folder of the backup itself. */
const OWN_NAMES = ['state.db', 'data.db', 'secret.key', 'edge.config.json'] as const

/** A path within the data directory: it becomes one at `restore`, so it leads nowhere else. */
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
  /** grows by one with each backup of a place; times can be wrong */
  sequence: z.int().min(1),
  madeAtUs: z.int(),
  /** false when the wall clock stood before the last recorded time */
  isClockTrusted: z.boolean(),
  nodeId: z.string().max(100),
  /** of the program that made it */
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
  /** bytes that rows name and that were lost or damaged already when the backup was made */
  lost: z.array(z.strictObject({ sha256: Digest, kind: z.enum(['model', 'file']), reason: z.string() })),
  /** files that the settings name outside the data directory: not in the backup */
  outside: z.array(z.string()),
})

export type Manifest = z.output<typeof ManifestSchema>
export type OwnName = (typeof OWN_NAMES)[number]

/** One backup of a place. */
export interface StoredBackup {
  /** its folder's name */
  readonly name: string
  readonly dir: string
  readonly manifest: Manifest
}

/** A folder of a place that cannot be used. */
export interface BadBackup {
  readonly name: string
  readonly fault: string
}

const FILE = 'manifest.json'

/** `00000012-20261121T234556Z`: in the order of their making, whatever the clock said. */
export function backupName(sequence: number, madeAtUs: number): string {
  const at = new Date(madeAtUs / 1000).toISOString().replace(/[-:]|\.\d+/g, '')
  return `${String(sequence).padStart(8, '0')}-${at}`
}

/** Writes the manifest into a folder; synced. Its first line is the SHA-256 of the second. */
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

/** @throws Error that says what is wrong with it */
export function readManifest(dir: string): Manifest {
  const file = path.join(dir, FILE)
  const lines = readFileSync(file, 'utf8').split('\n')
  const [, sha256] = /^\{"sha256":"([0-9a-f]{64})","manifest":$/.exec(lines[0] ?? '') ?? []
  const body = lines[1] ?? ''
  if (sha256 === undefined) throw new Error(`${file} is no manifest of a backup`)
  if (digestOfText(body) !== sha256)
    throw new Error(`${file} is damaged: found the digest ${digestOfText(body)}, expected ${sha256}`)
  const value: unknown = JSON.parse(body)
  const format = (value as { format?: unknown }).format
  if (typeof format === 'number' && format > 1)
    throw new Error(`${file} has the format ${format}, this Fieldgate reads 1: install a newer Fieldgate`)
  const parsed = ManifestSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Error(`${file} cannot be used: ${issue?.path.join('.')}: ${issue?.message}`)
}

/** Every backup of a place, oldest first; folders that are not whole are left out. */
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

/** The newest backup of a place, or the one of a name. @throws Error in one line when there is none */
export function chooseBackup(place: BackupPlace, name?: string): StoredBackup {
  const { backups, bad } = listBackups(place)
  const damaged = bad.find((one) => one.name === name)
  if (damaged !== undefined) throw new Error(`the backup ${name} cannot be used: ${damaged.fault}`)
  const found = name === undefined ? backups.at(-1) : backups.find((one) => one.name === name)
  if (found !== undefined) return found
  if (name !== undefined)
    throw new Error(
      `${place.root} holds no backup ${name}, it holds ${backups.map((one) => one.name).join(', ') || 'none'}`,
    )
  const [first] = bad
  if (first !== undefined) throw new Error(`no backup in ${place.root} can be used: ${first.fault}`)
  throw new Error(`${place.root} holds no backup: give the directory that \`fieldgate backup\` was given`)
}

function digestOfText(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}
