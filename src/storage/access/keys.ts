/** An API key without its secrets. */
export interface KeyRecord {
  keyId: string
  name: string
  scopes: string[]
  createdAtUs: number
  /** accurate to about a minute; null for a key that was never used */
  lastUsedAtUs: number | null
  revokedAtUs: number | null
  /** null for a key without an end */
  expiresAtUs: number | null
}

/** A secret that is valid now. */
export interface ActiveSecret {
  /** SHA-256 of the secret */
  digest: Uint8Array
  /** end of its overlap, µs; null for one that no rotation has replaced */
  expiresAtUs: number | null
}

/** A key that is neither revoked nor expired, with the facts that authentication needs. */
export interface ActiveKey {
  keyId: string
  keyName: string
  scopes: readonly string[]
  /** secrets that are valid now; more than one while a rotation overlaps */
  secrets: readonly ActiveSecret[]
}

export interface NewKey {
  keyId: string
  name: string
  scopes: readonly string[]
  /** SHA-256 of the secret, 32 bytes */
  secretHash: Uint8Array
  expiresAtUs: number | null
}

/** API keys. */
export interface KeyStore {
  create(key: NewKey): Promise<KeyRecord>
  /** Creates a key if the store is empty; returns undefined, and writes nothing, if any key exists. */
  createFirst(key: NewKey): Promise<KeyRecord | undefined>
  /** Returns undefined for an unknown, revoked or expired key, which takes as long as a key that was not asked for. */
  findActive(keyId: string): Promise<ActiveKey | undefined>
  find(keyId: string): Promise<KeyRecord | undefined>
  /** Returns every key, revoked ones included, oldest first. */
  list(): Promise<KeyRecord[]>
  /**
   * Adds a secret to a key. Its earlier secrets, and the sessions that were opened with them, stay valid
   * for `overlapS` more seconds at most; 0 ends them at once.
   *
   * @returns undefined for an unknown or revoked key
   */
  rotate(keyId: string, secretHash: Uint8Array, overlapS: number): Promise<KeyRecord | undefined>
  /** Revokes a key permanently. Revoking it twice changes nothing. Returns undefined for an unknown key. */
  revoke(keyId: string): Promise<KeyRecord | undefined>
  /** Replaces the scopes of a key. Returns undefined for an unknown key. */
  setScopes(keyId: string, scopes: readonly string[]): Promise<KeyRecord | undefined>
  /** Records in memory that the key was used now; `flushUses` writes it. */
  noteUse(keyId: string): void
  /** Writes the recorded uses in one transaction. Called about once a minute, to spare an SD card. */
  flushUses(): Promise<void>
}
