import { AppError, messageOf } from '../../errors.js'
import type { FeedRows } from '../../storage/exchange/feeds.js'
import type { Membership, MembershipStore } from '../../storage/exchange/membership.js'
import type { ModelStores } from '../../storage/models/model-stores.js'
import type { UpstreamRows } from '../../storage/models/upstreams.js'
import { EMPTY_PROFILE } from '../profile/schema.js'
import { type HubLink, isKeyRefused } from './hub-link.js'
import { reconcileStores, removeFeeds } from './reconcile.js'

export interface LeaveDeps {
  readonly membership: Pick<MembershipStore, 'find' | 'end'>
  readonly feeds: FeedRows
  readonly upstreams: UpstreamRows
  readonly modelStores: ModelStores
  connect(membership: Membership): HubLink
}

/** A membership that has ended. */
export interface LeftHub {
  readonly hubUrl: string
  /** why the hub does not know; null when it does */
  readonly fault: string | null
}

/**
 * Leaves the fleet: tells the hub, and removes what the profile made and all feeds to the hub. Rows stay.
 *
 * @param isForced leaves also when the hub cannot be told
 * @throws AppError NOT_JOINED, UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED; nothing is changed then
 */
export async function leaveHub(deps: LeaveDeps, isForced: boolean, signal: AbortSignal): Promise<LeftHub> {
  const membership = await deps.membership.find()
  if (membership === undefined || membership.state === 'left')
    throw new AppError('NOT_JOINED', {}, { message: 'this gateway is no member of a fleet' })
  let fault: string | null = null
  try {
    await tellHub(deps, membership, signal)
  } catch (error) {
    if (!isForced) throw error
    fault = messageOf(error)
  }
  await removeFeeds(deps)
  await reconcileStores(deps, membership, EMPTY_PROFILE)
  await deps.membership.end()
  return { hubUrl: membership.hubUrl, fault }
}

/** Announces to the hub that this gateway leaves; a hub that does not know its key needs no word of it. */
async function tellHub(deps: LeaveDeps, membership: Membership, signal: AbortSignal): Promise<void> {
  const { apiKey, secret, state } = membership
  if (state === 'joining' || apiKey === null || secret === null) return
  const link = deps.connect(membership)
  try {
    await link.leave(signal)
  } catch (error) {
    if (!isKeyRefused(error)) throw error
  } finally {
    await link.close()
  }
}
