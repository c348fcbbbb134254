import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { createBlobStore } from '../files/blob-store.js'
import { openDataReader } from '../storage/sqlite/connection/data-db.js'
import { schemaVersionOf } from '../storage/sqlite/connection/database-facts.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { KNOWN_VERSIONS } from '../storage/sqlite/connection/versions.js'
import { usedDigests } from '../storage/sqlite/tables/files.js'
import { error, type Finding, ok, type Patient, warning } from './finding.js'

interface ModelRow {
  sha256: string
  size_bytes: number
  is_damaged: number
}

/** Whether the bytes that rows name are there, with their sizes; the gateway itself reads them through, slowly, for ever. */
export async function checkBlobs(patient: Patient): Promise<Finding[]> {
  return [...(await checkModels(patient)), ...(await checkTableFiles(patient))]
}

async function checkModels({ layout }: Patient): Promise<Finding[]> {
  const { modelsDir: dir, tempDir } = layout
  const rows = readModels(layout.stateDb)
  if (rows.models.length > 0 && !existsSync(dir))
    return [error(`${dir} is not there`, 'restore a backup: the bytes of every model are gone')]
  const blobs = rows.models.length > 0 ? createBlobStore({ dir, tempDir }) : undefined
  const damaged = rows.models.filter((row) => row.is_damaged === 1)
  const missing: string[] = []
  for (const row of rows.models) {
    if (row.is_damaged === 1) continue
    if ((await blobs?.stat(row.sha256))?.sizeBytes !== row.size_bytes) missing.push(row.sha256)
  }
  const findings: Finding[] = []
  const again = `put the same file again, or copy it from bytes/<two letters>/ of a backup to ${dir}/<two letters>/ and restart`
  if (missing.length > 0)
    findings.push(error(`the bytes of ${list(missing)} are not there, or of another size`, again))
  if (damaged.length > 0)
    findings.push(
      error(
        `the bytes of ${list(damaged.map((row) => row.sha256))} were damaged and put aside`,
        `${again}; replace a disk that does this again`,
      ),
    )
  if (rows.quarantined > 0)
    findings.push(
      warning(
        `${rows.quarantined} rows of models are damaged and hidden`,
        'restore a backup, or put the models again',
      ),
    )
  const aside = path.join(dir, 'quarantine')
  if (damaged.length === 0 && existsSync(aside) && readdirSync(aside).length > 0)
    findings.push(
      warning(
        `${aside} holds ${readdirSync(aside).length} damaged files`,
        'remove them when nobody wants to look at them',
      ),
    )
  return findings.length > 0 ? findings : [ok(`the bytes of ${rows.models.length} models are there`)]
}

function readModels(stateDb: string): { models: ModelRow[]; quarantined: number } {
  const db = openPlain(stateDb, true)
  try {
    const models = db
      .prepare<[], ModelRow>(
        `SELECT sha256, max(size_bytes) AS size_bytes, max(damaged_at_us IS NOT NULL) AS is_damaged
         FROM model GROUP BY sha256`,
      )
      .all()
    const sql = 'SELECT count(*) FROM model WHERE quarantined IS NOT NULL'
    return { models, quarantined: Number(db.prepare(sql).pluck().get()) }
  } finally {
    db.close()
  }
}

async function checkTableFiles({ layout }: Patient): Promise<Finding[]> {
  if (!existsSync(layout.dataDb)) return []
  const db = openDataReader(layout.dataDb)
  const used = new Set<string>()
  try {
    if (schemaVersionOf(db) !== KNOWN_VERSIONS['data.db']) return []
    for (const sha256 of usedDigests(db)) used.add(sha256)
  } finally {
    db.close()
  }
  if (used.size === 0) return []
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
  const missing: string[] = []
  for (const sha256 of used) if ((await files.stat(sha256)) === undefined) missing.push(sha256)
  if (missing.length === 0) return [ok(`the ${used.size} files that tables name are there`)]
  return [
    error(
      `files that tables name are not there: ${list(missing)}`,
      `copy them from bytes/<two letters>/ of a backup to ${layout.filesDir}/<two letters>/`,
    ),
  ]
}

function list(digests: readonly string[]): string {
  const shown = digests.slice(0, 3).join(', ')
  return digests.length > 3 ? `${digests.length} models or files (${shown}, …)` : shown
}
