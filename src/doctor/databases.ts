import { messageOf } from '../errors.js'
import { readDamageNote } from '../files/damage-note.js'
import { type DatabaseName, type DirectoryLocks, newerSchemaFault } from '../storage/maintenance.js'
import { type CheckContext, error, type Finding, isoTime, megabytes, ok, warning } from './finding.js'

/**
 * Size of a log that is a warning. The gateway empties the log when no reader is active, so a log of this
 * size, far above the limit that it is cut to, means that one has been active for long.
 */
const LARGE_LOG_BYTES = 512 * 1024 * 1024

/** Checks whether a gateway is running, and the schema version, structure and log of each database. */
export async function checkDatabases(context: CheckContext): Promise<Finding[]> {
  const { root } = context.layout
  const { databases, locks } = context.maintenance
  const findings = [await checkLock(root, locks)]
  findings.push(...damageFindings(context))
  const found = await databases.list(root)
  const lost = await databases.lost(root)
  for (const line of lost) findings.push(lostFinding(line))
  for (const name of ['state.db', 'data.db'] as const) {
    if (found.includes(name)) findings.push(...(await checkDatabase(name, context)))
    else if (lost.length === 0) findings.push(ok(`${name} does not exist yet: the first start creates it`))
  }
  return findings
}

/** The structure may be intact and rows damaged, so the note is withdrawn by a check of everything alone. */
function damageFindings({ layout }: CheckContext): Finding[] {
  const note = readDamageNote(layout.damageNote)
  if (note === undefined) return []
  const since = note.atUs === undefined ? '' : ` at ${isoTime(note.atUs)}`
  return [
    error(
      `a damaged page was met${since}: ${note.fault}`,
      'run `fieldgate doctor --recheck`, which reads everything and withdraws this where nothing is damaged; else restore a backup',
    ),
  ]
}

/** Finding of a lost database. @param line message and advice, as `Databases.lost` gives them */
export function lostFinding(line: string): Finding {
  const at = line.indexOf(': ')
  return error(line.slice(0, at), line.slice(at + 2))
}

/** A lock file that cannot be used keeps the gateway from starting; the databases are examined all the same. */
async function checkLock(root: string, locks: DirectoryLocks): Promise<Finding> {
  try {
    return ok(
      (await locks.isLocked(root))
        ? 'a gateway serves this data directory'
        : 'no gateway serves this data directory',
    )
  } catch (thrown) {
    return error(messageOf(thrown), 'remove the lock file while no fieldgate program uses the directory')
  }
}

async function checkDatabase(name: DatabaseName, context: CheckContext): Promise<Finding[]> {
  const { layout, maintenance, onProgress } = context
  const { databases } = maintenance
  onProgress?.(name)
  const version = await databases.schemaVersion(layout.root, name)
  const known = databases.knownVersions[name]
  const newer = newerSchemaFault(name, version, known)
  if (newer !== null) return [error(newer, 'install the newer Fieldgate again, or restore an older backup')]
  const faults = await databases.check(layout.root, name, 'quick')
  if (faults.length > 0)
    return [
      error(
        `${name} is damaged: ${faults.slice(0, 3).join('; ')}`,
        'stop the gateway, move its data directory away, restore the newest backup that `fieldgate verify` reports as ok, and replace the disk',
      ),
    ]
  const { mainBytes, logBytes } = await databases.sizes(layout.root, name)
  const migration = version < known ? `, will be migrated to ${known} at the next start` : ''
  const findings = [ok(`${name}: schema version ${version}${migration}, ${megabytes(mainBytes)}, intact`)]
  if (logBytes >= LARGE_LOG_BYTES)
    findings.push(
      warning(
        `the log of ${name} has grown to ${megabytes(logBytes)}: a reader has been active for a long time`,
        'wait until the running backup or export has ended, or restart the gateway',
      ),
    )
  return findings
}
