import type { Family } from '../../http/metrics.js'
import type { HubContact } from '../../storage/exchange/contact.js'
import type { FleetSummary } from '../../storage/exchange/fleet.js'
import { isRelease, type Membership } from '../../storage/exchange/membership.js'
import { gauge, labelled } from './family.js'

const RELEASE_STATES = ['applied', 'waiting', 'refused', 'staged', 'rolled_back'] as const
const STATES = ['joining', 'member', 'refused', 'left'] as const

/** Facts about the membership of this gateway, and about those of its hub. */
export interface FleetFacts {
  readonly membership: Membership | undefined
  readonly contact: HubContact | null
  readonly gateways: FleetSummary
  /** µs UTC */
  readonly nowUs: number
}

/** Returns the families of a fleet; no label names a gateway, so that their number is bounded. */
export function fleetFamilies({ membership, contact, gateways, nowUs }: FleetFacts): Family[] {
  const { member, left, revoked, silent, trouble } = gateways
  const facts = {
    name: 'fieldgate_fleet_gateways',
    help: 'Gateways of this hub by state',
    type: 'gauge',
  } as const
  const hub = [
    labelled(facts, 'state', { member, left, revoked }),
    gauge('fieldgate_fleet_silent', 'Gateways of this hub without a report for an hour', silent),
    gauge(
      'fieldgate_fleet_trouble',
      'Gateways of this hub not ready, or with a profile or release put back',
      trouble,
    ),
  ]
  return membership === undefined ? hub : [...ownFamilies(membership, contact, nowUs), ...hub]
}

function ownFamilies({ state, progress }: Membership, contact: HubContact | null, nowUs: number): Family[] {
  const facts = { name: 'fieldgate_membership', help: '1 for the state in a fleet', type: 'gauge' } as const
  const families = [
    labelled(facts, 'state', Object.fromEntries(STATES.map((each) => [each, each === state ? 1 : 0]))),
    gauge(
      'fieldgate_profile_applied',
      'Version of the profile in force; 0 for none',
      progress.applied?.version ?? 0,
    ),
  ]
  const release = progress.items.find(({ item }) => isRelease(item))
  if (release !== undefined) {
    const help =
      'State of the release of the profile: 1 for staged while it waits for fieldgate update --staged'
    const states = RELEASE_STATES.map((each) => [each, each === release.state ? 1 : 0])
    families.push(
      labelled({ name: 'fieldgate_release', help, type: 'gauge' }, 'state', Object.fromEntries(states)),
    )
  }
  if (contact === null) return families
  return [
    ...families,
    gauge('fieldgate_profile_wanted', 'Version of the profile that the hub wants', contact.version),
    gauge(
      'fieldgate_hub_contact_age_seconds',
      'Time since the hub last answered',
      Math.max(0, nowUs - contact.atUs) / 1e6,
    ),
  ]
}
