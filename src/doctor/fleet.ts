import type { StoredFleet, StoredMembership } from '../storage/maintenance.js'
import { type CheckContext, error, type Finding, isoTime, ok, warning } from './finding.js'
import { checkFleetFiles } from './fleet-files.js'

/** Time without an answer of the hub, or a report of a gateway, from which it is a warning: one day. */
const LONG_US = 24 * 3_600_000_000

/** Checks the membership of this gateway, and as a hub its gateways and tokens. */
export async function checkFleet(context: CheckContext): Promise<Finding[]> {
  const { layout, maintenance, nowUs } = context
  const fleet = await maintenance.facts.fleet(layout.root, nowUs - LONG_US, nowUs)
  const { membership, gateways } = fleet
  const own =
    membership === null
      ? []
      : [...checkMembership(membership, nowUs), ...checkFleetFiles(membership, context)]
  const findings = [...own, ...checkHub(fleet)]
  if (findings.length > 0) return findings
  const member = membership === null ? [] : [ok(`a member of ${membership.hubUrl}`)]
  const hub = gateways.member === 0 ? [] : [ok(membersText(gateways.member))]
  return member.length + hub.length > 0 ? [...member, ...hub] : [ok('no fleet')]
}

function checkMembership(membership: StoredMembership, nowUs: number): Finding[] {
  const { hubUrl, state, reason, putBack, wanted, applied, refusedItems, release } = membership
  if (state === 'refused')
    return [error(`${hubUrl} refuses this gateway: ${reason}`, 'join with a new token')]
  if (state === 'joining')
    return [
      warning(
        `joining ${hubUrl} is not complete: ${reason ?? 'it has not answered'}`,
        'run `fieldgate join` again',
      ),
    ]
  const findings: Finding[] = []
  const since = membership.contactUs ?? membership.joinedAtUs
  if (nowUs - since > LONG_US)
    findings.push(
      warning(
        `the hub ${hubUrl} has not answered since ${isoTime(since)}`,
        'check the network, sync.windows and the log',
      ),
    )
  if (putBack !== null)
    findings.push(
      warning(
        `version ${putBack.version} of the profile was put back: ${putBack.reason}`,
        'mend the cause, then store a new version of the profile at the hub',
      ),
    )
  else if (wanted !== null && wanted !== applied)
    findings.push(
      warning(
        `version ${wanted} of the profile is not applied; ${applied === null ? 'none' : `version ${applied}`} is`,
        'see `fieldgate fleet status`',
      ),
    )
  if (refusedItems.length > 0)
    findings.push(
      warning(
        `the profile is not applied for ${refusedItems.slice(0, 5).join(', ')}`,
        'see the reasons in `fieldgate fleet status`',
      ),
    )
  if (release?.state === 'staged')
    findings.push(
      warning(
        `a release is staged: ${release.reason}`,
        'run `fieldgate update --staged`, or enable fieldgate-update.timer',
      ),
    )
  if (release?.state === 'rolled_back')
    findings.push(
      warning(
        `the release of the profile does not work here: ${release.reason}`,
        'mend the cause, then run `fieldgate update --staged --again`, or name another release at the hub',
      ),
    )
  return findings
}

function membersText(count: number): string {
  return count === 1 ? '1 gateway is a member of this hub' : `${count} gateways are members of this hub`
}

function checkHub({ gateways, tokens }: StoredFleet): Finding[] {
  const findings: Finding[] = []
  const { member, silent, trouble } = gateways
  const look = 'see `fieldgate fleet list`'
  if (silent > 0)
    findings.push(
      warning(`gateways of this hub that have not reported for a day: ${silent} of ${member}`, look),
    )
  if (trouble > 0)
    findings.push(
      warning(
        `gateways of this hub that are not ready, or put their profile or release back: ${trouble} of ${member}`,
        look,
      ),
    )
  const ended = tokens.expired + tokens.usedUp
  if (ended > 0 && tokens.active === 0)
    findings.push(ok(`no gateway can join: tokens used up: ${tokens.usedUp}, expired: ${tokens.expired}`))
  return findings
}
