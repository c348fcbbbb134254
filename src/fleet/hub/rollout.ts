import { createHash } from 'node:crypto'
import type { ProfileVersion, RolloutMember } from '../../storage/exchange/fleet.js'
import { Profile } from '../profile/schema.js'

/** Progress of the newest version of a profile. */
export interface Rollout {
  /** `canary`: some gateways try it; `stopped`: too many of them are in trouble; `all`: every gateway gets it */
  readonly state: 'canary' | 'stopped' | 'all'
  /** node ids of the gateways that try it first */
  readonly canaries: readonly string[]
  /** gateways that have it, and run its release */
  readonly applied: number
  /** gateways that put it or its release back, or are not ready with it */
  readonly trouble: number
}

/** Gateways that were not seen for longer are no canaries, µs: they would hold up the others. */
const AWAY_US = 86_400_000_000

/**
 * Returns how far the newest version of a profile is. Nothing but the reports of the gateways decides, so that
 * a hub that was restored, or another process of it, comes to the same result.
 *
 * @param versions of the profile, the newest first; the first version of all goes to every gateway
 * @param members of the profile
 */
export function rolloutOf(
  versions: readonly ProfileVersion[],
  members: readonly RolloutMember[],
  nowUs: number,
): Rollout {
  const [newest, before] = versions
  if (newest === undefined) return { state: 'all', canaries: [], applied: 0, trouble: 0 }
  const { digest, body } = newest
  const { canary_percent, max_trouble, wait_s } = Profile.parse(body).stages
  const has = members.filter(({ appliedDigest, release }) => appliedDigest === digest && release === null)
  const trouble = members.filter((member) => isInTrouble(member, digest)).length
  const canaries = canariesOf(members, digest, canary_percent, nowUs)
  const done = canaries.filter(
    (member) =>
      has.includes(member) &&
      !isInTrouble(member, digest) &&
      nowUs - (member.triedAtUs ?? nowUs) >= wait_s * 1_000_000,
  )
  const facts = { canaries: canaries.map(({ nodeId }) => nodeId), applied: has.length, trouble }
  if (before === undefined || canary_percent === 100) return { state: 'all', ...facts }
  if (trouble > max_trouble) return { state: 'stopped', ...facts }
  // canaries in trouble that are allowed for do not hold up the others
  const isDone = canaries.length > 0 && done.length + trouble >= canaries.length
  return { state: isDone ? 'all' : 'canary', ...facts }
}

/** Reports whether the newest version goes to every gateway, whatever they report. @param versions the newest first */
export function isForAll([newest, before]: readonly ProfileVersion[]): boolean {
  return (
    newest === undefined || before === undefined || Profile.parse(newest.body).stages.canary_percent === 100
  )
}

/** Returns the version that a gateway is to have. */
export function versionFor(
  versions: readonly ProfileVersion[],
  members: readonly RolloutMember[],
  member: Pick<RolloutMember, 'nodeId' | 'appliedDigest'>,
  nowUs: number,
): ProfileVersion | undefined {
  const [newest, ...earlier] = versions
  if (newest === undefined || member.appliedDigest === newest.digest) return newest
  const { state, canaries } = rolloutOf(versions, members, nowUs)
  if (state === 'all' || (state === 'canary' && canaries.includes(member.nodeId))) return newest
  const inForce = earlier.find(({ digest }) => digest === member.appliedDigest)
  return inForce ?? mostUsed(earlier, members) ?? newest
}

/** Returns the version that most gateways have: one that joins while a version is tried gets it. */
function mostUsed(
  earlier: readonly ProfileVersion[],
  members: readonly RolloutMember[],
): ProfileVersion | undefined {
  const uses = ({ digest }: ProfileVersion) =>
    members.filter(({ appliedDigest }) => appliedDigest === digest).length
  return [...earlier].sort((a, b) => uses(b) - uses(a))[0]
}

function isInTrouble(
  { triedDigest, appliedDigest, outcome, isReady, release }: RolloutMember,
  digest: string,
): boolean {
  if (triedDigest === digest && outcome === 'put_back') return true
  return appliedDigest === digest && (!isReady || release === 'rolled_back')
}

/** Chooses the canaries of a version, others for each: at least one of those that reported lately. */
function canariesOf(
  members: readonly RolloutMember[],
  digest: string,
  percent: number,
  nowUs: number,
): RolloutMember[] {
  const place = ({ nodeId }: RolloutMember) =>
    createHash('sha256').update(`${digest} ${nodeId}`).digest('hex')
  return members
    .filter(({ lastSeenUs }) => lastSeenUs !== null && nowUs - lastSeenUs < AWAY_US)
    .map((member) => ({ member, place: place(member) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ member }) => member)
    .slice(0, Math.ceil((members.length * percent) / 100))
}
