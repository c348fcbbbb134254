/** Share of the idle limit by which the stored last use may be behind. */
const LAG_SHARE = 16

/** Last use of a session, µs. */
interface Use {
  readonly sessionId: string
  readonly usedUs: number
}

/**
 * Last uses of sessions that are not written yet. They are held in memory, 150 bytes for each session: a write
 * for each call would wear out an SD card.
 */
export interface SessionUses {
  /** idle limit, µs; 0 for none */
  readonly idleUs: number
  /** difference by which stored uses may be behind, µs */
  readonly lagUs: number
  note(sessionId: string, usedUs: number): void
  /** Returns the later of the stored and the noted use, µs. */
  latest(sessionId: string, storedUs: number): number
  /** Returns the sessions whose stored use is not known yet, each once. */
  unread(): string[]
  /**
   * Takes the stored uses of sessions that `unread` returned; those without one have no row, and are forgotten.
   */
  read(sessionIds: readonly string[], storedUs: ReadonlyMap<string, number>): void
  /** Returns the uses that are to be written, of those that were read. @param isLast returns all of them */
  due(isLast: boolean): Use[]
  /** Forgets uses that were written, unless the session was used again since. */
  written(uses: readonly Use[]): void
  /** Forgets sessions that have ended. */
  forget(sessionIds: Iterable<string>): void
}

/**
 * Creates the uses of sessions.
 *
 * @param idleUs idle limit, 0 for none
 * @param maxLagUs longest difference between the stored and the real last use, µs: where a write is cheap, or
 *   other processes serve the same sessions, it is short
 */
export function createSessionUses(idleUs: number, maxLagUs: number): SessionUses {
  const lagUs = idleUs === 0 ? maxLagUs : Math.min(maxLagUs, Math.floor(idleUs / LAG_SHARE))
  const noted = new Map<string, { usedUs: number; storedUs: number | undefined }>()
  return {
    idleUs,
    lagUs,
    note(sessionId, usedUs) {
      const known = noted.get(sessionId)
      if (known === undefined) noted.set(sessionId, { usedUs, storedUs: undefined })
      else known.usedUs = usedUs
    },
    latest: (sessionId, storedUs) => Math.max(storedUs, noted.get(sessionId)?.usedUs ?? 0),
    unread: () => [...noted].filter(([, use]) => use.storedUs === undefined).map(([sessionId]) => sessionId),
    read(sessionIds, storedUs) {
      for (const sessionId of sessionIds) {
        const stored = storedUs.get(sessionId)
        const use = noted.get(sessionId)
        if (stored === undefined) noted.delete(sessionId)
        else if (use !== undefined) use.storedUs = stored
      }
    },
    due(isLast) {
      const due: Use[] = []
      for (const [sessionId, { usedUs, storedUs }] of noted) {
        if (storedUs !== undefined && usedUs - storedUs > (isLast ? 0 : lagUs))
          due.push({ sessionId, usedUs })
      }
      return due
    },
    written(uses) {
      for (const { sessionId, usedUs } of uses) {
        const use = noted.get(sessionId)
        if (use?.usedUs === usedUs) noted.delete(sessionId)
        else if (use !== undefined) use.storedUs = usedUs
      }
    },
    forget(sessionIds) {
      for (const sessionId of sessionIds) noted.delete(sessionId)
    },
  }
}
