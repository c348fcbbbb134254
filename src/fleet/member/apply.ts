import { messageOf } from '../../errors.js'
import type { Log } from '../../log.js'
import { checkValue } from '../../messages/fault-text.js'
import {
  isRelease,
  type Membership,
  type MembershipStore,
  type ProfileItem,
  type ProfileProgress,
  type ReceivedProfile,
} from '../../storage/exchange/membership.js'
import { shorten } from '../../sync/faults.js'
import { digestOf } from '../profile/digest.js'
import { EMPTY_PROFILE, Profile } from '../profile/schema.js'

export interface ApplyDeps {
  readonly membership: MembershipStore
  /** Makes what a profile wants; a repeat changes nothing. */
  reconcile(membership: Membership, profile: Profile): Promise<ProfileItem[]>
  /** Returns one line for each part of the gateway that is not ready. */
  faults(): Promise<readonly string[]>
  /** monotonic clock, ms */
  nowMs(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Starts that may try one profile: it is put back when the process ends as often while it is applied. */
const MAX_ATTEMPTS = 3
/** Time between two looks at what is not ready yet, ms. */
const LOOK_MS = 200

/**
 * Applies a profile. When the gateway does not become ready within the time that the profile gives, the former
 * one is put back, and this one is not tried again.
 *
 * @returns the progress, as it was noted
 */
export async function applyProfile(
  deps: ApplyDeps,
  membership: Membership,
  profile: ReceivedProfile,
  signal: AbortSignal,
): Promise<ProfileProgress> {
  const { progress } = membership
  const read = readProfile(profile)
  if (typeof read === 'string') return await putBack(deps, membership, profile, read)
  const attempts = (progress.applying?.profile.digest === profile.digest ? progress.applying.attempts : 0) + 1
  if (attempts > MAX_ATTEMPTS)
    return await putBack(
      deps,
      membership,
      profile,
      `the gateway ended ${MAX_ATTEMPTS} times while it was applied`,
    )
  await deps.membership.noteProgress({ ...progress, applying: { profile, attempts } })
  const before = new Set((await deps.faults()).map(withoutNumbers))
  let items: ProfileItem[]
  try {
    items = await deps.reconcile(membership, read)
    const fault = await untilReady(deps, before, read.ready_within_s, signal)
    if (fault !== undefined) return await putBack(deps, membership, profile, fault)
  } catch (error) {
    if (signal.aborted) throw error
    return await putBack(deps, membership, profile, `it could not be applied: ${messageOf(error)}`)
  }
  deps.log.info(
    { audit: true, act: 'profile-applied', ...nameOf(profile) },
    'a profile of the hub is applied',
  )
  return await note(deps, { applied: profile, items, applying: null, putBack: null })
}

/**
 * Tries again what waits or was refused.
 *
 * @param isFirst since the start: another version may run now, so that a release is looked at again
 * @returns the progress, undefined when all is applied
 */
export async function retryItems(
  deps: ApplyDeps,
  membership: Membership,
  isFirst: boolean,
): Promise<ProfileProgress | undefined> {
  const { applied, items } = membership.progress
  const isDone = ({ item, state }: ProfileItem) => state === 'applied' && !(isFirst && isRelease(item))
  if (applied === null || items.every(isDone)) return undefined
  const again = await deps.reconcile(membership, profileOf(applied))
  if (JSON.stringify(again) === JSON.stringify(items)) return membership.progress
  return await note(deps, { ...membership.progress, items: again })
}

/** Returns the profile in force: the empty one before the first. */
export function profileOf(received: ReceivedProfile | null): Profile {
  const read = received === null ? EMPTY_PROFILE : readProfile(received)
  return typeof read === 'string' ? EMPTY_PROFILE : read
}

/** Reads a profile of the hub. @returns it, or why it cannot be read, where this program does not know a part of it */
export function readProfile({ body, digest }: ReceivedProfile): Profile | string {
  if (digestOf(body) !== digest) return 'its digest does not fit: the hub sent another text'
  const checked = checkValue(Profile, body)
  if ('data' in checked) return checked.data
  const [first] = checked.faults
  return shorten(`this version of the program cannot read it: ${first?.path.join('.')}: ${first?.message}`)
}

/** @returns a part that is not ready in time, and was before; undefined when there is none */
async function untilReady(
  deps: ApplyDeps,
  before: ReadonlySet<string>,
  withinS: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const endMs = deps.nowMs() + withinS * 1000
  for (;;) {
    const fault = (await deps.faults()).find((line) => !before.has(withoutNumbers(line)))
    if (fault === undefined) return undefined
    if (deps.nowMs() >= endMs) return `not ready within ${withinS} s: ${fault}`
    await deps.sleep(LOOK_MS, signal)
  }
}

/** Returns a line by which a part that was not ready before is recognised: amounts change. */
function withoutNumbers(line: string): string {
  return line.replace(/\d+/g, '#')
}

/** Puts the former profile back. */
async function putBack(
  deps: ApplyDeps,
  membership: Membership,
  profile: ReceivedProfile,
  reason: string,
): Promise<ProfileProgress> {
  const { applied } = membership.progress
  const items = await deps.reconcile(membership, profileOf(applied))
  const { digest, version } = profile
  deps.log.warn(
    { audit: true, act: 'profile-put-back', ...nameOf(profile), reason },
    'a profile was put back',
  )
  const back = { digest, version, reason: shorten(reason) }
  return await note(deps, { applied, items, applying: null, putBack: back })
}

async function note(deps: ApplyDeps, progress: ProfileProgress): Promise<ProfileProgress> {
  await deps.membership.noteProgress(progress)
  return progress
}

function nameOf({ name, version }: ReceivedProfile) {
  return { profile: name, version }
}
