/** Context of the encrypted secret: another encrypted value in its place cannot be decrypted. */
export const MEMBERSHIP_SECRET_CONTEXT = 'fleet_membership.secret'

/** Name of the upstream of feeds that joining makes. */
export const HUB_UPSTREAM = 'hub'

/** Identity of the hub as it was when this gateway joined. */
export interface HubIdentity {
  readonly nodeId: string
  /** Ed25519 and X25519 public keys, 32 bytes each in base64url */
  readonly signingKey: string
  readonly exchangeKey: string
}

/** A profile as a gateway received it. */
export interface ReceivedProfile {
  readonly name: string
  readonly version: number
  readonly digest: string
  readonly body: unknown
}

/**
 * Part of a profile that was applied, waits for something, or cannot be applied. `staged` is a release that waits
 * for `fieldgate update --staged`, `rolled_back` one that did not work here.
 */
export interface ProfileItem {
  /** such as `up seen` */
  readonly item: string
  readonly state: 'applied' | 'waiting' | 'refused' | 'staged' | 'rolled_back'
  readonly reason: string | null
}

/** Reports whether an item is a release of the program. */
export function isRelease(item: string): boolean {
  return item.startsWith('release ')
}

/** Progress of this gateway with the profiles of its hub. */
export interface ProfileProgress {
  /** profile in force; null for none */
  readonly applied: ReceivedProfile | null
  readonly items: readonly ProfileItem[]
  /** profile that is being applied, and the number of starts that tried; null between two */
  readonly applying: { readonly profile: ReceivedProfile; readonly attempts: number } | null
  /** profile that was put back, and the reason; null when the last one was not */
  readonly putBack: { readonly digest: string; readonly version: number; readonly reason: string } | null
  /** version whose files are being downloaded, with those that are not here; absent or null for none */
  readonly fetching?: { readonly version: number; readonly items: readonly ProfileItem[] } | null
}

/** Membership of this gateway in a fleet. Contains the secret in the clear: never log it. */
export interface Membership {
  /** base URL */
  readonly hubUrl: string
  readonly name: string
  /** `refused`: the hub does not accept the key */
  readonly state: 'joining' | 'member' | 'refused' | 'left'
  /** null before the hub has answered */
  readonly apiKey: string | null
  /** null when it was encrypted with another key than that of the key file */
  readonly secret: string | null
  readonly hub: HubIdentity | null
  /** why the hub refuses this gateway, or why joining failed; null for none */
  readonly reason: string | null
  readonly joinedAtUs: number | null
  readonly progress: ProfileProgress
}

/** Membership of this gateway: one at most. */
export interface MembershipStore {
  find(): Promise<Membership | undefined>
  /**
   * Begins to join. An unfinished attempt at the same hub keeps its secret, so that a repeat is the same
   * request.
   *
   * @returns undefined for a member of another hub, and where an operator has named an upstream `hub`
   */
  begin(request: { hubUrl: string; name: string; secret: string }): Promise<Membership | undefined>
  /** Completes joining: the membership and the upstream `hub` are written in one transaction. */
  complete(joined: { apiKey: string; hub: HubIdentity }): Promise<Membership>
  /** Notes whether the hub accepts the key. */
  setState(state: 'member' | 'refused', reason: string | null): Promise<void>
  /** Notes why joining failed. */
  noteFailure(reason: string): Promise<void>
  noteProgress(progress: ProfileProgress): Promise<void>
  /**
   * Ends the membership: secret, feeds to the hub and its upstream are removed, and no row of a table. Maps and
   * modules stay, as those of an operator.
   */
  end(): Promise<void>
}

/** Kind of what a profile installs. */
export type FileKind = 'map' | 'module'

/** Map or module that a profile installed. */
export interface InstalledFile {
  readonly kind: FileKind
  readonly name: string
  /** of the file that it was made of, hex */
  readonly sha256: string
  /** stamp of the installed files; empty while they are exchanged */
  readonly stamp: string
}

/** Items that profiles installed on this gateway. */
export interface InstalledFiles {
  list(): Promise<InstalledFile[]>
  note(file: InstalledFile): Promise<void>
  forget(kind: FileKind, name: string): Promise<void>
}

/** Progress before the first profile. */
export const NO_PROGRESS: ProfileProgress = {
  applied: null,
  items: [],
  applying: null,
  putBack: null,
}
