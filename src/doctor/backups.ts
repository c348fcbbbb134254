import { statSync } from 'node:fs'
import { listBackups } from '../backup/manifest.js'
import { placeOf } from '../backup/place.js'
import { type BackupRecord, LAST_BACKUP, readRecord } from '../backup/schedule.js'
import { messageOf } from '../errors.js'
import { type CheckContext, error, type Finding, isoTime, megabytes, ok, warning } from './finding.js'

const HOUR_US = 3_600_000_000
/** Age up to which a gateway needs no backup yet. */
const NEW_US = 7 * 24 * HOUR_US
/** Without a schedule: age of the last backup that is a warning, five weeks. */
const OLD_US = 35 * 24 * HOUR_US

/** Checks the directory of backups, the outcome of the last backup, and its age. */
export async function checkBackups(context: CheckContext): Promise<Finding[]> {
  const { layout, config, maintenance } = context
  const record = readRecord(await maintenance.facts.noted(layout.root, LAST_BACKUP))
  const { dir } = config.backup
  return [
    ...(dir === undefined ? [] : checkPlace(dir)),
    ...(record === null ? [] : checkLastAttempt(record)),
    await checkAge(context, record),
  ]
}

function checkPlace(dir: string): Finding[] {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true)
    return [
      warning(
        `the directory ${dir} (backup.dir) does not exist`,
        'mount the disk, or let the next backup create the directory',
      ),
    ]
  try {
    return listBackups(placeOf(dir)).bad.map(({ name, fault }) =>
      warning(
        `the backup ${name} cannot be used: ${fault}`,
        'remove its directory: until then no bytes of old backups are removed',
      ),
    )
  } catch (thrown) {
    return [
      error(
        `${dir} cannot be read: ${messageOf(thrown)}`,
        'give the user of the gateway permission to read and write it',
      ),
    ]
  }
}

function checkLastAttempt(record: BackupRecord): Finding[] {
  const findings: Finding[] = []
  if (record.error !== null)
    findings.push(
      error(
        `the backup to ${record.dir} failed at ${isoTime(record.atUs)}: ${record.error}`,
        'fix the cause; the next attempt is made within the hour, or at once with `fieldgate backup`',
      ),
    )
  if (record.lost > 0)
    findings.push(
      warning(
        `${record.lost} files were lost before the last backup, which does not contain them`,
        'see the check "blobs"',
      ),
    )
  const { damaged = 0 } = record
  if (damaged > 0)
    findings.push(
      error(
        `the rows of ${damaged} citations were damaged before the last backup`,
        'restore the newest backup from before; `fieldgate cite verify` lists the citations; replace the disk',
      ),
    )
  return findings
}

async function checkAge(
  { layout, config, maintenance, nowUs }: CheckContext,
  record: BackupRecord | null,
): Promise<Finding> {
  const { dir, everyHours } = config.backup
  const advice =
    dir === undefined
      ? 'set backup.dir, or run `fieldgate backup DIR`'
      : 'find the cause in the log, or run `fieldgate backup` now'
  const successUs = record?.successUs ?? null
  if (record === null || successUs === null) {
    const madeAtUs = await maintenance.facts.firstKeyAtUs(layout.root)
    return nowUs - madeAtUs > NEW_US
      ? warning('no backup has been made', advice)
      : ok(`no backup yet${dir === undefined ? '; with backup.dir set they are made automatically' : ''}`)
  }
  const limitUs = dir === undefined ? OLD_US : Math.max(2, everyHours * 2) * HOUR_US
  const made = `the last backup was made at ${isoTime(successUs)}`
  if (nowUs - successUs > limitUs) return warning(made, advice)
  return ok(`${made} in ${record.dir}, ${megabytes(record.totalBytes)}`)
}
