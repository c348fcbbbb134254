import t from 'tap'
import { fleetFamilies } from '../../../src/gateway/metrics/fleet.js'
import { type Membership, NO_PROGRESS } from '../../../src/storage/exchange/membership.js'

const gateways = { member: 3, left: 1, revoked: 2, silent: 1, trouble: 2 }
const membership: Membership = {
  ...{ hubUrl: 'https://hub', name: 'van', state: 'member', apiKey: 'k', secret: 's', hub: null },
  ...{ reason: null, joinedAtUs: 1, progress: NO_PROGRESS },
}

/** Names with labels → values. */
const read = (facts: Parameters<typeof fleetFamilies>[0]) =>
  Object.fromEntries(
    fleetFamilies(facts).flatMap(({ name, samples }) =>
      samples.map(({ labels = {}, value }) => [[name, ...Object.values(labels)].join(' '), value]),
    ),
  )

t.test('metrics: the fleet has as many series whatever its size', async (t) => {
  const none = read({ membership: undefined, contact: null, gateways, nowUs: 0 })
  t.same(none, {
    ...{ 'fieldgate_fleet_gateways member': 3, 'fieldgate_fleet_gateways left': 1 },
    ...{ 'fieldgate_fleet_gateways revoked': 2, fieldgate_fleet_silent: 1, fieldgate_fleet_trouble: 2 },
  })
  const contact = { atUs: 2_000_000, version: 4 }
  t.match(read({ membership, contact, gateways, nowUs: 5_000_000 }), {
    ...{ 'fieldgate_membership member': 1, 'fieldgate_membership refused': 0, fieldgate_profile_applied: 0 },
    ...{ fieldgate_profile_wanted: 4, fieldgate_hub_contact_age_seconds: 3 },
  })
  const items = [{ item: 'release linux-x64', state: 'staged' as const, reason: null }]
  const staged = { ...membership, progress: { ...NO_PROGRESS, items } }
  t.match(read({ membership: staged, contact, gateways, nowUs: 0 }), {
    ...{ 'fieldgate_release staged': 1, 'fieldgate_release applied': 0, 'fieldgate_release rolled_back': 0 },
  })
  t.notOk('fieldgate_profile_wanted' in read({ membership, contact: null, gateways, nowUs: 0 }))
})
