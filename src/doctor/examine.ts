import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { isDamage, messageOf } from '../errors.js'
import { checkBackups } from './backups.js'
import { checkBlobs } from './blobs.js'
import { checkBundles } from './bundles.js'
import { checkClock } from './clock.js'
import { checkDatabases, lostFinding } from './databases.js'
import { checkDisk } from './disk.js'
import { checkFeeds } from './feeds.js'
import { type Check, type CheckContext, error, type Finding, ok, worst } from './finding.js'
import { checkFleet } from './fleet.js'
import { checkIngest } from './ingest.js'
import { checkKeys } from './keys.js'
import { checkMaps } from './maps.js'
import { checkModbus } from './modbus.js'
import { checkModules } from './modules.js'
import { checkPermissions } from './permissions.js'
import { checkRetention } from './retention.js'
import { checkTriggers } from './triggers.js'
import { checkUpstreams } from './upstreams.js'

type RunCheck = (context: CheckContext) => Finding[] | Promise<Finding[]>

/** Checks in an order in which causes come before their consequences. */
const CHECKS: readonly { name: string; run: RunCheck; needsData: boolean }[] = [
  { name: 'disk', run: checkDisk, needsData: false },
  { name: 'permissions', run: checkPermissions, needsData: true },
  { name: 'database', run: checkDatabases, needsData: true },
  { name: 'clock', run: checkClock, needsData: true },
  { name: 'keys', run: checkKeys, needsData: true },
  { name: 'blobs', run: checkBlobs, needsData: true },
  { name: 'maps', run: checkMaps, needsData: false },
  { name: 'upstreams', run: checkUpstreams, needsData: true },
  { name: 'feeds', run: checkFeeds, needsData: true },
  { name: 'ingest', run: checkIngest, needsData: true },
  { name: 'modbus', run: checkModbus, needsData: true },
  { name: 'fleet', run: checkFleet, needsData: true },
  { name: 'bundles', run: checkBundles, needsData: true },
  { name: 'backups', run: checkBackups, needsData: true },
  { name: 'modules', run: checkModules, needsData: false },
  { name: 'triggers', run: checkTriggers, needsData: true },
  { name: 'retention', run: checkRetention, needsData: true },
]

/** Checks that read no whole file. */
const LIGHT: readonly string[] = [
  ...['disk', 'clock', 'keys', 'upstreams', 'feeds', 'ingest', 'modbus', 'fleet', 'backups'],
]

/** Runs all checks, whether the gateway is running or not. A check that fails does not prevent the others. */
export async function examine(context: CheckContext): Promise<Check[]> {
  return await run(CHECKS, context)
}

/** Runs the checks that read no whole file, as a gateway may do beside its work. */
export async function examineLightly(context: CheckContext): Promise<Check[]> {
  return await run(
    CHECKS.filter(({ name }) => LIGHT.includes(name)),
    context,
  )
}

async function run(wanted: typeof CHECKS, context: CheckContext): Promise<Check[]> {
  const checks: Check[] = []
  const hasData = existsSync(context.layout.stateDb)
  for (const { name, run: check, needsData } of wanted) {
    context.onProgress?.(name)
    const findings = needsData && !hasData ? await noData(name, context) : await guarded(check, context)
    checks.push({ name, state: worst(findings.map(({ state }) => state)), findings })
  }
  return checks
}

/** Finding of a check that has nothing to look at. */
export const NO_DATA = 'skipped: there is no data'

/** Findings without a data directory: one error, under `database`; the other checks are skipped. */
async function noData(check: string, { layout, maintenance }: CheckContext): Promise<Finding[]> {
  if (check !== 'database') return [ok(NO_DATA)]
  const lost = accessFault(layout.root) === null ? await maintenance.databases.lost(layout.root) : []
  return lost.length > 0 ? lost.map(lostFinding) : [missing(layout.root)]
}

function missing(root: string): Finding {
  if (statSync(root, { throwIfNoEntry: false })?.isFile() === true)
    return error(`${root} is a file, expected a data directory`, 'give the --data-dir of the gateway')
  const fault = accessFault(root)
  if (fault !== null)
    return error(`${root} cannot be read: ${fault}`, 'run doctor as the user of the gateway, or as root')
  return error(
    `${root} is not the data directory of a gateway`,
    'give the --data-dir of the gateway, or create one with `fieldgate init`',
  )
}

/** Runs a check. An exception becomes a finding: its cause would stop the gateway, too. */
async function guarded(run: RunCheck, context: CheckContext): Promise<Finding[]> {
  try {
    return await run(context)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    const isPermission = code === 'EACCES' || code === 'EPERM' || code === 'SQLITE_CANTOPEN'
    const isDamaged = isDamage(thrown)
    const advice = isPermission
      ? 'see the check "permissions"'
      : isDamaged
        ? 'a database is damaged: stop the gateway, move its data directory away, restore the newest backup that `fieldgate verify` reports as ok, and replace the disk'
        : 'see the other checks; when all of them are ok, report this as a fault of Fieldgate'
    return [error(`the check failed: ${messageOf(thrown)}`, advice)]
  }
}

/** Why an existing directory cannot be read; null when it can, or does not exist. */
function accessFault(dir: string): string | null {
  if (!existsSync(dir)) return null
  try {
    accessSync(dir, constants.R_OK | constants.X_OK)
    return null
  } catch (thrown) {
    return messageOf(thrown)
  }
}
