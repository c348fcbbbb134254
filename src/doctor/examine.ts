import { accessSync, constants, existsSync } from 'node:fs'
import { messageOf } from '../errors.js'
import { checkBackups } from './backups.js'
import { checkBlobs } from './blobs.js'
import { checkClock } from './clock.js'
import { checkDatabases } from './databases.js'
import { checkDisk } from './disk.js'
import { type Check, error, type Finding, ok, type Patient, worst } from './finding.js'
import { checkKeys } from './keys.js'
import { checkMaps } from './maps.js'
import { checkModules } from './modules.js'
import { checkPermissions } from './permissions.js'
import { checkUpstreams } from './upstreams.js'

type Examine = (patient: Patient) => Finding[] | Promise<Finding[]>

const RIGHT_USER = 'run doctor as the user that the gateway runs as, or as root'

/** In the order in which one fault explains another. */
const CHECKS: readonly [name: string, examine: Examine, needsData: boolean][] = [
  ['disk', checkDisk, false],
  ['permissions', checkPermissions, true],
  ['database', checkDatabases, true],
  ['clock', checkClock, true],
  ['keys', checkKeys, true],
  ['blobs', checkBlobs, true],
  ['maps', checkMaps, false],
  ['upstreams', checkUpstreams, true],
  ['backups', checkBackups, true],
  ['modules', checkModules, false],
]

/** Looks at everything a gateway stands on, whether it runs or not. No check keeps another one from being made. */
export async function examine(patient: Patient): Promise<Check[]> {
  const checks: Check[] = []
  const hasData = existsSync(patient.layout.stateDb)
  for (const [name, look, needsData] of CHECKS) {
    patient.onProgress?.(name)
    const findings = needsData && !hasData ? noData(name, patient) : await guarded(look, patient)
    checks.push({ name, state: worst(findings.map(({ state }) => state)), findings })
  }
  return checks
}

/** Said once; the other checks that need data have nothing to look at. */
function noData(check: string, { layout }: Patient): Finding[] {
  if (check !== 'database') return [ok('not looked at, for there is no data')]
  return [missing(layout.root)]
}

function missing(root: string): Finding {
  const fault = accessFault(root)
  if (fault !== null) return error(`${root} cannot be looked into: ${fault}`, RIGHT_USER)
  return error(
    `${root} holds no gateway's data`,
    'give the --data-dir of the gateway, or make one with `fieldgate init`',
  )
}

/** A check that cannot be made is a finding too: what stops it would stop the gateway. */
async function guarded(look: Examine, patient: Patient): Promise<Finding[]> {
  try {
    return await look(patient)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    const isRights = code === 'EACCES' || code === 'EPERM' || code === 'SQLITE_CANTOPEN'
    const advice = isRights
      ? 'see the check "permissions"'
      : 'see the other checks; when they are all right, report this as a fault of Fieldgate'
    return [error(`the check could not be made: ${messageOf(thrown)}`, advice)]
  }
}

/** Why a directory that is there cannot be read; null when it can, or is not there. */
function accessFault(dir: string): string | null {
  if (!existsSync(dir)) return null
  try {
    accessSync(dir, constants.R_OK | constants.X_OK)
    return null
  } catch (thrown) {
    return messageOf(thrown)
  }
}
