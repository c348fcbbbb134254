import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { openDataReader } from '../storage/sqlite/connection/data-db.js'
import { checkDatabase, schemaVersionOf } from '../storage/sqlite/connection/database-facts.js'
import { isDirectoryLocked } from '../storage/sqlite/connection/lock.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { type DatabaseName, KNOWN_VERSIONS, restorableFault } from '../storage/sqlite/connection/versions.js'
import { error, type Finding, megabytes, ok, type Patient, warning } from './finding.js'

/** A log is emptied when nobody reads any more; far above `journal_size_limit` somebody has been reading for long. */
const LARGE_LOG_BYTES = 512 * 1024 * 1024

export function checkDatabases(patient: Patient): Finding[] {
  const { layout } = patient
  const isServed = existsSync(layout.lockDb) && isDirectoryLocked(layout.lockDb)
  const findings = [
    ok(isServed ? 'a gateway serves this data directory' : 'no gateway serves this data directory'),
  ]
  for (const file of [layout.stateDb, layout.dataDb]) {
    if (existsSync(file)) findings.push(...lookAt(file, patient))
    else findings.push(ok(`${path.basename(file)} is not there yet: the first start makes it`))
  }
  return findings
}

function lookAt(file: string, { onProgress }: Patient): Finding[] {
  const name = path.basename(file) as DatabaseName
  onProgress?.(name)
  // indexes of data.db are made with functions of ours
  const db = name === 'data.db' ? openDataReader(file) : openPlain(file, true)
  try {
    const version = schemaVersionOf(db)
    const known = KNOWN_VERSIONS[name]
    const newer = restorableFault(name, version)
    if (newer !== null) return [error(newer, 'install the newer Fieldgate again, or restore an older backup')]
    const faults = checkDatabase(db, 'quick')
    if (faults.length > 0)
      return [
        error(
          `${name} is damaged: ${faults.slice(0, 3).join('; ')}`,
          'stop the gateway, move its data directory away, and restore the newest backup that `fieldgate verify` calls whole; then replace the disk',
        ),
      ]
    const size = megabytes(statSync(file).size)
    const migration = version < known ? `, will be migrated to ${known} at the next start` : ''
    return [ok(`${name}: schema version ${version}${migration}, ${size}, whole`), ...lookAtLog(file)]
  } finally {
    db.close()
  }
}

function lookAtLog(file: string): Finding[] {
  const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (bytes < LARGE_LOG_BYTES) return []
  return [
    warning(
      `${file}-wal has grown to ${megabytes(bytes)}: something has been reading for long`,
      'wait for a backup or an export that is under way, else restart the gateway',
    ),
  ]
}
