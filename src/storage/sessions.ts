interface NewSession {
  sessionId: string
  /** SHA-256 of the token; the token itself is not stored */
  tokenHash: Uint8Array
  keyId: string
  lifeS: number
  /** latest end of the session, µs: the end of the session or secret through which it was opened; null for none */
  notAfterUs: number | null
}

/** A session that is open now. */
interface OpenSession {
  sessionId: string
  keyId: string
  expiresAtUs: number
}

/** Sessions of API keys. */
export interface SessionStore {
  /** @returns the end of the session, and the seconds until then */
  open(session: NewSession): Promise<{ expiresAtUs: number; lifeS: number }>
  /**
   * Returns undefined for an unknown, closed or expired session, and for one whose key is revoked or expired.
   */
  findOpen(tokenHash: Uint8Array): Promise<OpenSession | undefined>
  /** Returns the number of sessions of a key that are open, up to `limit`. */
  countOpen(keyId: string, limit: number): Promise<number>
  /** Closes a session. An unknown token, or a second call, changes nothing. */
  close(tokenHash: Uint8Array): Promise<void>
  /**
   * Returns the ids of at most `limit` ended sessions. They stay until `remove`, so that whatever belongs to
   * them can be removed first.
   */
  listEnded(limit: number): Promise<string[]>
  remove(sessionIds: readonly string[]): Promise<void>
  /** Returns the ids without a row: sessions that never existed or were removed. */
  unknownOf(sessionIds: readonly string[]): Promise<string[]>
}
