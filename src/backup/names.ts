import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import type { DataLayout } from '../files/layout.js'
import { openDataReader } from '../storage/sqlite/connection/data-db.js'
import { DATA_MIGRATIONS } from '../storage/sqlite/connection/data-migrations.js'
import type { Db } from '../storage/sqlite/connection/database.js'
import { schemaVersionOf } from '../storage/sqlite/connection/database-facts.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { STATE_MIGRATIONS } from '../storage/sqlite/connection/state-migrations.js'
import { usedDigests } from '../storage/sqlite/tables/files.js'

/** Bytes that a model's row names. */
export interface NamedModel {
  sha256: string
  sizeBytes: number
  /** the gateway knows already that they are not what they were */
  isDamaged: boolean
}

/** What the rows of `state.db` say of the node and its models. */
export interface StateNames {
  nodeId: string
  models: NamedModel[]
}

/** @param file a copy of `state.db`. @throws Error naming both versions when it is not of this program's schema */
export function readStateNames(file: string): StateNames {
  const db = openPlain(file, true)
  try {
    requireVersion(db, file, STATE_MIGRATIONS.length)
    const nodeId = db.prepare<[], string>("SELECT value FROM meta WHERE name = 'node_id'").pluck().get()
    if (nodeId === undefined) throw new Error(`${file} names no node: run \`fieldgate init\` first`)
    const models = db
      .prepare<[], { sha256: string; sizeBytes: number; isDamaged: number }>(
        `SELECT sha256, max(size_bytes) AS sizeBytes, max(damaged_at_us IS NOT NULL) AS isDamaged
         FROM model GROUP BY sha256 ORDER BY sha256`,
      )
      .all()
    return { nodeId, models: models.map((row) => ({ ...row, isDamaged: row.isDamaged === 1 })) }
  } finally {
    db.close()
  }
}

/** Digests of the files that rows of a copy of `data.db` name, in order. */
export function readTableFileNames(file: string): string[] {
  const db = openDataReader(file)
  try {
    requireVersion(db, file, DATA_MIGRATIONS.length)
    return [...new Set(usedDigests(db))].sort()
  } finally {
    db.close()
  }
}

/** A file of the data directory that is kept by its path. */
export interface PlainFile {
  /** below the data directory, with `/` */
  path: string
  file: string
  sizeBytes: number
  isExecutable: boolean
}

/** What modules keep beyond their runs; the rest of that folder is for a run or a session. */
const APPLICATIONS = path.join('dataproc', 'applications')

/**
 * Maps, modules, and what those keep beyond their runs. Links and other things that are no files are left out: they would lead out of the
 * data directory.
 */
export function listPlainFiles({ root, modulesDir, mapsDir }: DataLayout): PlainFile[] {
  const maps = filesBelow(root, mapsDir).filter((one) => one.path.endsWith('.graph'))
  return [...maps, ...filesBelow(root, modulesDir), ...filesBelow(root, path.join(root, APPLICATIONS))]
}

function filesBelow(root: string, dir: string): PlainFile[] {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.part'))
    .flatMap((entry) => {
      const file = path.join(entry.parentPath, entry.name)
      const found = statSync(file, { throwIfNoEntry: false })
      if (found === undefined) return []
      const { size, mode } = found
      return [
        {
          path: path.relative(root, file).split(path.sep).join('/'),
          file,
          sizeBytes: size,
          isExecutable: (mode & 0o100) !== 0,
        },
      ]
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

function requireVersion(db: Db, file: string, known: number): void {
  const found = schemaVersionOf(db)
  if (found === known) return
  const advice =
    found > known
      ? 'use the Fieldgate that the gateway runs'
      : 'start the gateway once with this Fieldgate, or use the one that made it'
  throw new Error(
    `${path.basename(file)} has schema version ${found}, this Fieldgate reads ${known}: ${advice}`,
  )
}
