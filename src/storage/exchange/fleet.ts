import type { NewKey } from '../access/keys.js'

/** Token with which gateways join: an API key with the scope `fleet:join`, and the profile that it gives. */
export interface JoinToken {
  readonly keyId: string
  readonly profile: string
  readonly maxUses: number
  readonly uses: number
  readonly createdAtUs: number
  readonly expiresAtUs: number | null
  readonly revokedAtUs: number | null
}

/** Tokens of a hub. */
export interface JoinTokens {
  /** @returns undefined for an unknown profile */
  create(key: NewKey, profile: string, maxUses: number): Promise<JoinToken | undefined>
  find(keyId: string): Promise<JoinToken | undefined>
  /** Returns all, the newest first. */
  list(): Promise<JoinToken[]>
  /** Revokes the key of a token. @returns undefined for a key that is no token */
  revoke(keyId: string): Promise<JoinToken | undefined>
}

/** A version of a profile. */
export interface ProfileVersion {
  readonly name: string
  /** 1 and up */
  readonly version: number
  /** SHA-256 of the canonical text of `body`, hex */
  readonly digest: string
  /** JSON that was checked when it was stored */
  readonly body: unknown
  readonly createdAtUs: number
  /** name of the key that stored it; null for the command line */
  readonly createdBy: string | null
}

/** Profiles of a hub. Versions are never changed. */
export interface FleetProfiles {
  /**
   * Adds a version. A body with the digest of the newest version adds none.
   *
   * @param base version that the caller has seen, 0 for a new profile; null to add it whatever there is
   * @returns the newest version; undefined when that is not `base`
   */
  add(
    profile: Pick<ProfileVersion, 'name' | 'digest' | 'body' | 'createdBy'>,
    base: number | null,
  ): Promise<ProfileVersion | undefined>
  /** @param version the newest unless given */
  find(name: string, version?: number): Promise<ProfileVersion | undefined>
  /** Returns the newest version of each profile, by name. */
  list(): Promise<ProfileVersion[]>
  /** Returns the versions of a profile, the newest first. */
  versions(name: string): Promise<ProfileVersion[]>
}

/** A gateway as it asks to join. */
export interface JoinRequest {
  /** key of the token */
  readonly tokenKeyId: string
  /** UUID of the gateway */
  readonly nodeId: string
  readonly name: string
  /** Ed25519 and X25519 public keys, 32 bytes each in base64url */
  readonly signingKey: string
  readonly exchangeKey: string
  /** SHA-256 of the secret that the gateway made for its key */
  readonly secretHash: Uint8Array
  /** id and scopes of the key that it receives unless it is a member with this secret */
  readonly newKeyId: string
  readonly scopes: readonly string[]
  /** `data_name` of the tables that this key may send and read */
  readonly tables: readonly string[]
}

export type MemberState = 'member' | 'left' | 'revoked'

/** Success of a profile at a gateway. */
export type ProfileOutcome = 'applied' | 'partly' | 'put_back'

/** A gateway of the fleet. */
export interface FleetMember {
  readonly nodeId: string
  readonly name: string
  readonly profile: string
  readonly keyId: string
  readonly signingKey: string
  readonly exchangeKey: string
  readonly state: MemberState
  readonly joinedAtUs: number
  /** when it left or was revoked; null for a member */
  readonly endedAtUs: number | null
  /** digest of the profile that it has; null for none */
  readonly appliedDigest: string | null
  /** digest of the last profile that it tried, and the success */
  readonly triedDigest: string | null
  readonly outcome: ProfileOutcome | null
  /** null before the first report */
  readonly lastSeenUs: number | null
  /** last report, JSON; null before the first one */
  readonly lastReport: unknown
}

/** Rules by which a version reaches the gateways. */
export interface RolloutMember
  extends Pick<FleetMember, 'nodeId' | 'appliedDigest' | 'triedDigest' | 'outcome' | 'lastSeenUs'> {
  /** when the version that was tried last was reported first */
  readonly triedAtUs: number | null
  /** as it last reported */
  readonly isReady: boolean
  /** its release as it last reported: `open` until it runs; null for none */
  readonly release: 'open' | 'rolled_back' | null
}

/** Result of a request to join. */
export type JoinOutcome =
  | { readonly kind: 'joined' | 'repeated'; readonly member: FleetMember }
  /** the node is known with other public keys, or was revoked */
  | { readonly kind: 'other_keys' | 'revoked'; readonly member: FleetMember }
  | { readonly kind: 'used_up'; readonly token: JoinToken }
  | { readonly kind: 'no_token' }

/** Report of a gateway about itself. */
export interface NewReport {
  readonly appliedDigest: string | null
  readonly triedDigest: string | null
  readonly outcome: ProfileOutcome | null
  /** JSON of some hundred bytes */
  readonly report: unknown
}

/** A report of the last day. */
export interface PastReport {
  readonly atUs: number
  readonly report: unknown
}

/** Gateways of a hub, counted. */
export interface FleetSummary {
  readonly member: number
  readonly left: number
  readonly revoked: number
  /** members that have not reported for some time */
  readonly silent: number
  /** members that are not ready, or put their profile back */
  readonly trouble: number
}

/** Gateways of a hub. */
export interface FleetMembers {
  /** Counts them. @param silentBeforeUs members that have not reported since are silent, µs UTC */
  summary(silentBeforeUs: number): Promise<FleetSummary>
  /**
   * Takes a gateway in, counts the use of the token, makes its key with its tables, and notes its public keys for
   * bundles, in one transaction. A repeat of the same request answers the same membership and counts nothing. A peer of
   * the same name stays: this one gets the beginning of its node id.
   */
  join(request: JoinRequest): Promise<JoinOutcome>
  find(nodeId: string): Promise<FleetMember | undefined>
  /** Finds the member to which a key belongs. Cost: one search of an index. */
  ofKey(keyId: string): Promise<FleetMember | undefined>
  /** Returns all, by name. */
  list(): Promise<FleetMember[]>
  /** Returns the members of a profile. Cost: their rows, without the whole reports. */
  ofProfile(profile: string): Promise<RolloutMember[]>
  /** Ends a membership and revokes its key. @returns undefined for an unknown node */
  end(nodeId: string, state: Exclude<MemberState, 'member'>): Promise<FleetMember | undefined>
  /** Removes a gateway that is no member any more: it may join again. @returns undefined for any other */
  forget(nodeId: string): Promise<FleetMember | undefined>
  /** Notes a report; of the last day one is kept for each ten minutes. */
  report(nodeId: string, report: NewReport): Promise<void>
  /** Returns the reports of the last day, the newest first. */
  reports(nodeId: string): Promise<PastReport[]>
}

/** A file that a hub keeps for its fleet. */
export interface FleetFile {
  /** hex */
  readonly sha256: string
  /** for people */
  readonly name: string
  readonly sizeBytes: number
  readonly addedAtUs: number
}

/** Files of a hub that profiles may name. The bytes are kept beside, by digest. */
export interface FleetFiles {
  /** Notes a file whose bytes are kept; one that is known gets the name. */
  add(file: Omit<FleetFile, 'addedAtUs'>): Promise<FleetFile>
  find(sha256: string): Promise<FleetFile | undefined>
  /** Returns all, by name. */
  list(): Promise<FleetFile[]>
  /**
   * Forgets a file that no profile names: neither its newest version, nor the one before, nor one that a gateway
   * has.
   *
   * @returns the file, with the version that names it where it stays; undefined for an unknown one
   */
  remove(
    sha256: string,
  ): Promise<{ file: FleetFile; namedBy: Pick<ProfileVersion, 'name' | 'version'> | null } | undefined>
}
