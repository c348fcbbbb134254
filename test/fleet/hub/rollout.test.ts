import t from 'tap'
import { rolloutOf, versionFor } from '../../../src/fleet/hub/rollout.js'
import { Profile } from '../../../src/fleet/profile/schema.js'
import type { ProfileVersion, RolloutMember } from '../../../src/storage/exchange/fleet.js'

const NOW_US = 1_000_000_000_000_000
const HOUR_US = 3_600_000_000

/** Versions of a profile, the newest first; digests are `v1` and up. */
const versionsOf = (count: number, stages: object): ProfileVersion[] =>
  Array.from({ length: count }, (_, at) => ({
    ...{ name: 'field', version: count - at, digest: `v${count - at}`, createdAtUs: 0, createdBy: null },
    body: Profile.parse({ stages }),
  }))

const member = (n: number, more: Partial<RolloutMember> = {}): RolloutMember => ({
  ...{ nodeId: `node ${n}`, appliedDigest: 'v1', triedDigest: 'v1', outcome: 'applied' },
  ...{ lastSeenUs: NOW_US, triedAtUs: NOW_US - HOUR_US, isReady: true, release: null, ...more },
})
const fleetOf = (count: number) => Array.from({ length: count }, (_, n) => member(n))
const tried = (of: RolloutMember, more: Partial<RolloutMember> = {}): RolloutMember => ({
  ...{ ...of, appliedDigest: 'v2', triedDigest: 'v2', ...more },
})

/** Versions that the gateways of a fleet are to have, in their order. */
const given = (versions: readonly ProfileVersion[], members: readonly RolloutMember[]): number[] =>
  members.map((one) => versionFor(versions, members, one, NOW_US)?.version ?? 0)

/** The fleet in which the canaries are what `change` makes of them. */
const withCanaries = (
  versions: readonly ProfileVersion[],
  members: readonly RolloutMember[],
  change: (canary: RolloutMember, at: number) => RolloutMember,
): RolloutMember[] => {
  const { canaries } = rolloutOf(versions, members, NOW_US)
  return members.map((one) => {
    const at = canaries.indexOf(one.nodeId)
    return at < 0 ? one : change(one, at)
  })
}

t.test('rollout: without stages, and in its first version, a profile goes to every gateway', async (t) => {
  t.same(given(versionsOf(2, {}), fleetOf(3)), [2, 2, 2])
  t.same(given(versionsOf(1, { canary_percent: 1 }), fleetOf(3)), [1, 1, 1])
  t.equal(versionFor([], [], member(1), NOW_US), undefined)
})

t.test('rollout: a share tries it, at least one, and the others get it when these are done', async (t) => {
  for (const [percent, count] of [
    [1, 1],
    [20, 2],
    [21, 3],
    [99, 10],
  ] as const) {
    const versions = versionsOf(2, { canary_percent: percent })
    const all = fleetOf(10)
    t.equal(given(versions, all).filter((version) => version === 2).length, count, `${percent} %`)
    const half = withCanaries(versions, all, (one, at) => (at === 0 ? tried(one) : one))
    if (count > 1) t.equal(rolloutOf(versions, half, NOW_US).state, 'canary')
    const done = withCanaries(versions, all, (one) => tried(one))
    t.match(rolloutOf(versions, done, NOW_US), { state: 'all', applied: count, trouble: 0 })
    t.same(new Set(given(versions, done)), new Set([2]))
  }
})

t.test(
  'rollout: a gateway is done when it runs the release, and in trouble when that did not work',
  async (t) => {
    const versions = versionsOf(2, { canary_percent: 20 })
    const all = fleetOf(10)
    const staged = withCanaries(versions, all, (one) => tried(one, { release: 'open' }))
    t.match(rolloutOf(versions, staged, NOW_US), { state: 'canary', applied: 0, trouble: 0 })
    const failed = withCanaries(versions, all, (one, at) =>
      tried(one, at === 0 ? { release: 'rolled_back' } : {}),
    )
    t.match(rolloutOf(versions, failed, NOW_US), { state: 'stopped', applied: 1, trouble: 1 })
  },
)

t.test('rollout: the first gateways must have it for the time that the profile gives', async (t) => {
  const versions = versionsOf(2, { canary_percent: 20, wait_s: 1800 })
  const since = (us: number) =>
    withCanaries(versions, fleetOf(10), (one) => tried(one, { triedAtUs: NOW_US - us }))
  t.equal(rolloutOf(versions, since(HOUR_US / 2 - 1), NOW_US).state, 'canary')
  t.equal(rolloutOf(versions, since(HOUR_US / 2), NOW_US).state, 'all')
})

t.test('rollout: it stops when too many are in trouble, and each keeps what it has', async (t) => {
  const versions = versionsOf(2, { canary_percent: 30, max_trouble: 1 })
  const all = fleetOf(10)
  const back = (one: RolloutMember) => tried(one, { appliedDigest: 'v1', outcome: 'put_back' })
  const one = withCanaries(versions, all, (of, at) => (at === 0 ? back(of) : tried(of)))
  t.match(rolloutOf(versions, one, NOW_US), { state: 'all', trouble: 1 }, 'one is allowed for')
  const two = withCanaries(versions, all, (of, at) =>
    at === 0 ? back(of) : at === 1 ? tried(of, { isReady: false }) : tried(of),
  )
  t.match(rolloutOf(versions, two, NOW_US), { state: 'stopped', trouble: 2, applied: 2 })
  t.equal(given(versions, two).filter((version) => version === 2).length, 2, 'those that have it')
  t.equal(given(versions, two).filter((version) => version === 1).length, 8)
})

t.test('rollout: gateways that are away are no canaries, and do not hold up the others', async (t) => {
  const versions = versionsOf(2, { canary_percent: 50 })
  const all = fleetOf(4).map((one, n) => (n < 2 ? { ...one, lastSeenUs: NOW_US - 25 * HOUR_US } : one))
  const { canaries } = rolloutOf(versions, all, NOW_US)
  t.same([...canaries].sort(), ['node 2', 'node 3'])
  const never = all.map((one) => ({ ...one, lastSeenUs: null }))
  t.match(rolloutOf(versions, never, NOW_US), { state: 'canary', canaries: [] })
})

t.test('rollout: a gateway that joins meanwhile gets the version that most have', async (t) => {
  const versions = versionsOf(3, { canary_percent: 25 })
  const all = fleetOf(4)
  const { canaries } = rolloutOf(versions, all, NOW_US)
  const fresh = { nodeId: 'fresh', appliedDigest: null }
  t.notOk(canaries.includes('fresh'))
  t.equal(versionFor(versions, all, fresh, NOW_US)?.version, 1)
  t.equal(versionFor(versions, all, { nodeId: canaries[0] ?? '', appliedDigest: 'v1' }, NOW_US)?.version, 3)
})
