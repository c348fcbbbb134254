export interface NewSession {
  sessionId: string
  /** SHA-256 of the token; the token itself is not stored */
  tokenHash: Uint8Array
  keyId: string
  lifeS: number
  /** latest end of the session, µs: the end of the session or secret through which it was opened; null for none */
  notAfterUs: number | null
  /** most open sessions of the key, this one included; absent for any number */
  mostOpen?: number
}

/** A session that is open now. */
export interface OpenSession {
  sessionId: string
  keyId: string
  expiresAtUs: number
}

/** A session that is open now, as a list shows it. Times are µs UTC. */
export interface ListedSession extends OpenSession {
  createdAtUs: number
  /** time of opening for one that was never used */
  lastUsedAtUs: number
  /** time at which it ends when it is not used before; null where sessions have no idle limit */
  idleAtUs: number | null
}

/** Part of the open sessions. */
export interface SessionQuery {
  /** sessions of this key; null for those of every key */
  keyId: string | null
  limit: number
  offset: number
}

/** Sessions of API keys. A session ends with its life, and earlier when it is not used for the idle limit. */
export interface SessionStore {
  /** @returns the end of the session, and the seconds until then */
  /** @throws AppError TOO_MANY_SESSIONS */
  open(session: NewSession): Promise<{ expiresAtUs: number; lifeS: number }>
  /**
   * Returns undefined for an unknown, closed, expired or idle session, and for one whose key is revoked or
   * expired.
   *
   * @param isSignedIn true within a request whose caller was signed in: it may be answered as of that time
   */
  findOpen(tokenHash: Uint8Array, isSignedIn?: boolean): Promise<OpenSession | undefined>
  /** Returns the number of sessions of a key that are open, up to `limit`. */
  countOpen(keyId: string, limit: number): Promise<number>
  /** Records in memory that a session was used now; `flushUses` writes it. Must not wait for a disk. */
  noteUse(sessionId: string): void
  /**
   * Writes recorded uses in one transaction: those that differ from the stored ones by more than a sixteenth
   * of the idle limit, at most an hour. A crash loses the others, so that a session may end so much earlier.
   *
   * @param isLast writes all of them, before the database is closed
   */
  flushUses(isLast?: boolean): Promise<void>
  /**
   * Returns open sessions, the newest first. Those whose idle limit passed within the last hours may be among
   * them: a process that does not serve them does not know their last uses.
   */
  list(query: SessionQuery): Promise<ListedSession[]>
  /** Closes a session. An unknown token, or a second call, changes nothing. */
  close(tokenHash: Uint8Array): Promise<void>
  /**
   * Closes a session by its id.
   *
   * @param keyId key that it must belong to; null for any
   * @returns the closed session; undefined when none is open under this id and key
   */
  end(sessionId: string, keyId: string | null): Promise<OpenSession | undefined>
  /** Closes every open session of a key. @returns their number */
  endAll(keyId: string): Promise<number>
  /**
   * Returns the ids of at most `limit` ended sessions. They stay until `remove`, so that whatever belongs to
   * them can be removed first.
   */
  listEnded(limit: number): Promise<string[]>
  remove(sessionIds: readonly string[]): Promise<void>
  /** Returns the ids without a row: sessions that never existed or were removed. */
  unknownOf(sessionIds: readonly string[]): Promise<string[]>
}
