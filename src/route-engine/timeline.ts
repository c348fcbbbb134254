import type { Profile } from '../routing/search/profile.js'
import { MAX_SLOTS, type Timeline } from '../routing/search/timed-search.js'
import type { RouteRequest } from './requests.js'
import { slotStarts } from './slots.js'
import type { Theme, Themes } from './themes.js'

const US_PER_MS = 1000n

/**
 * A timeline that reads profiles when a search reaches their slots, so that a table may change in between.
 */
export interface WatchedTimeline extends Timeline {
  /**
   * Returns true when profiles of two states of a table were returned: the result of the search is invalid
   * then.
   */
  isMixed(): boolean
}

/**
 * Creates the timeline of a request: the slots of all its themes, from the departure on.
 *
 * @param changes further instants at which slots begin, ascending
 */
export function createTimeline(
  themes: Themes,
  request: RouteRequest,
  changes: readonly bigint[],
  profileAt: (instantUs: bigint) => Profile,
): WatchedTimeline {
  const names = request.themes.map(([name]) => name)
  const found = names.map((name) => themes.find(name))
  // a table with too many changes to list is used as it is at the departure
  const starts = slotStarts(
    [changes, ...found.map((theme) => theme.changes ?? [])],
    request.startUs,
    MAX_SLOTS,
  )
  if (names.length > 0) themes.expectInstants(starts)
  const profiles: Profile[] = []
  let isMixed = false
  const readProfile = (slot: number): Profile =>
    themes.inSnapshot(() => {
      isMixed ||= names.some((name, i) => !isSameState(found[i], themes.find(name)))
      return profileAt(starts[slot] ?? request.startUs)
    })
  return {
    slotStartMs: starts.map((startUs) => Number((startUs - request.startUs + US_PER_MS - 1n) / US_PER_MS)),
    profileOf(slot) {
      profiles[slot] ??= readProfile(slot)
      return profiles[slot]
    },
    isMixed: () => isMixed,
  }
}

function isSameState(before: Theme | undefined, now: Theme): boolean {
  return before?.table.tableId === now.table.tableId && before.version === now.version
}
