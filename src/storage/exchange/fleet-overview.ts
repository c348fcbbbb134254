import type { FleetMember } from './fleet.js'

/**
 * Worst trouble of a gateway, the worst first; then `none`, and `left` for one that is no member any more.
 *
 * - `revoked`: it is refused
 * - `silent`: it has not reported for an hour
 * - `not_ready`: a part of it is not ready
 * - `put_back`: it put its profile or a release back
 * - `behind`: rows or models have waited for more than an hour
 * - `clock`: its clock is off by more than five minutes
 * - `finding`: doctor has found something there
 * - `partly`: a part of its profile is not applied
 * - `outdated`: it does not have the newest version of its profile, as while that is rolled out
 */
export const TROUBLES = [
  ...(['revoked', 'silent', 'not_ready', 'put_back', 'behind', 'clock', 'finding'] as const),
  ...(['partly', 'outdated', 'none', 'left'] as const),
] as const

export type Trouble = (typeof TROUBLES)[number]

/** Time without a report after which a gateway is silent, µs. */
export const SILENT_US = 3_600_000_000
/** Time for which something has waited at a gateway that is behind, s. */
export const BEHIND_S = 3600
/** Difference of clocks from which it is trouble, µs. */
export const CLOCK_OFF_US = 300_000_000

/** Choice of gateways. */
export interface MemberChoice {
  /** part of the name; ASCII letters match in both cases */
  readonly name?: string | undefined
  readonly profile?: string | undefined
  /** kinds of their worst troubles; absent for all */
  readonly troubles?: readonly Trouble[] | undefined
  /** µs UTC */
  readonly nowUs: number
}

/** Page of the list of gateways. */
export interface MemberPage extends MemberChoice {
  /** `trouble`: the worst first, then by name */
  readonly order: 'name' | 'trouble'
  /** absent for all */
  readonly limit?: number | undefined
  readonly offset: number
}

/** A gateway with its worst trouble. */
export interface ListedMember extends FleetMember {
  readonly trouble: Trouble
}

/** Last position of a gateway, as it reported it. */
export interface MemberPosition extends Pick<ListedMember, 'nodeId' | 'name' | 'trouble'> {
  /** degrees */
  readonly lng: number
  readonly lat: number
}

/** Gateways of a hub as an operator looks at them. Cost of each: one look at every gateway, some µs each. */
export interface FleetOverview {
  page(page: MemberPage): Promise<ListedMember[]>
  /** Counts them by their worst troubles. `troubles` of the choice is not used. */
  count(choice: MemberChoice): Promise<Record<Trouble, number>>
  /** Returns the positions of gateways that have reported one, the worst trouble first. @param limit most of them */
  positions(choice: MemberChoice, limit: number): Promise<MemberPosition[]>
}

/** Returns the places of kinds in `TROUBLES`; null for all. */
export function ranksOf(troubles: readonly Trouble[] | undefined): number[] | null {
  return troubles === undefined ? null : troubles.map((each) => TROUBLES.indexOf(each))
}

/** Returns the kind at a place in `TROUBLES`. */
export function troubleAt(rank: number): Trouble {
  return TROUBLES[rank] ?? 'none'
}

/** Returns the counts of all kinds. @param counts of those that have some */
export function allCounts(
  counts: readonly { readonly rank: number; readonly gateways: number }[],
): Record<Trouble, number> {
  const none = Object.fromEntries(TROUBLES.map((each) => [each, 0])) as Record<Trouble, number>
  return {
    ...none,
    ...Object.fromEntries(counts.map(({ rank, gateways }) => [troubleAt(rank), gateways])),
  }
}
