import { statSync } from 'node:fs'
import { listBackups } from '../backup/manifest.js'
import { placeOf } from '../backup/place.js'
import type { BackupRecord } from '../backup/schedule.js'
import { messageOf } from '../errors.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { error, type Finding, isoTime, megabytes, ok, type Patient, warning } from './finding.js'

const HOUR_US = 3_600_000_000
/** A gateway of fewer days has nothing yet that would be missed. */
const NEW_US = 7 * 24 * HOUR_US
/** Without a schedule: an operator comes by about so often. */
const OLD_US = 35 * 24 * HOUR_US

export function checkBackups({ layout, config, nowUs }: Patient): Finding[] {
  const { record, madeAtUs } = readRecord(layout.stateDb)
  const { dir, everyHours } = config.backup
  const findings = dir === undefined ? [] : lookAtPlace(dir)
  if (record?.error != null)
    findings.push(
      error(
        `the backup of ${isoTime(record.atUs)} to ${record.dir} was not made: ${record.error}`,
        'mend that; it is tried again within the hour, or at once with `fieldgate backup`',
      ),
    )
  if (record !== null && record.lost > 0)
    findings.push(
      warning(
        `${record.lost} files were lost before the last backup and are not in it`,
        'see the check "blobs"',
      ),
    )
  const successUs = record?.successUs ?? null
  const limitUs = dir === undefined ? OLD_US : Math.max(2, everyHours * 2) * HOUR_US
  const advice =
    dir === undefined
      ? 'set backup.dir, or run `fieldgate backup DIR`'
      : 'look at the log for why, or run `fieldgate backup` now'
  if (successUs === null) {
    if (nowUs - madeAtUs > NEW_US) findings.push(warning('no backup has ever been made', advice))
    else
      findings.push(
        ok(`no backup yet${dir === undefined ? '; backup.dir would make them by themselves' : ''}`),
      )
  } else if (nowUs - successUs > limitUs)
    findings.push(warning(`the last backup was made at ${isoTime(successUs)}`, advice))
  else
    findings.push(
      ok(
        `the last backup was made at ${isoTime(successUs)} in ${record?.dir}, ${megabytes(record?.totalBytes ?? 0)}`,
      ),
    )
  return findings
}

function lookAtPlace(dir: string): Finding[] {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true)
    return [
      warning(
        `${dir} (backup.dir) is not there`,
        'mount the disk, or let the next backup make the directory',
      ),
    ]
  try {
    return listBackups(placeOf(dir)).bad.map(({ name, fault }) =>
      warning(
        `the backup ${name} cannot be used: ${fault}`,
        'remove its directory: until then no old bytes are removed',
      ),
    )
  } catch (thrown) {
    return [error(`${dir} cannot be read: ${messageOf(thrown)}`, 'let the gateway’s user read and write it')]
  }
}

/** How the last backup went, and when the gateway was made. */
function readRecord(stateDb: string): { record: BackupRecord | null; madeAtUs: number } {
  const db = openPlain(stateDb, true)
  try {
    const text = db.prepare<[], string>("SELECT value FROM meta WHERE name = 'last_backup'").pluck().get()
    const madeAtUs = Number(db.prepare('SELECT min(created_at_us) FROM api_key').pluck().get() ?? 0)
    return { record: text === undefined ? null : (JSON.parse(text) as BackupRecord), madeAtUs }
  } finally {
    db.close()
  }
}
