import type { Membership } from './membership.js'

/** Name under which the last answer of the hub is noted. */
export const CONTACT = 'fleet_contact'

/** Last answer of the hub. */
export interface HubContact {
  /** µs UTC */
  readonly atUs: number
  /** version of the profile that the hub wants here */
  readonly version: number
}

/** Returns the text that is noted. */
export function contactText({ atUs, version }: HubContact): string {
  return `${atUs} ${version}`
}

/** Reads what was noted. @returns null for none since this gateway joined */
export function readContact(
  noted: string | undefined,
  { joinedAtUs }: Pick<Membership, 'joinedAtUs'>,
): HubContact | null {
  const [, at, version] = /^(\d+) (\d+)$/.exec(noted ?? '') ?? []
  if (at === undefined || joinedAtUs === null || Number(at) < joinedAtUs) return null
  return { atUs: Number(at), version: Number(version) }
}
