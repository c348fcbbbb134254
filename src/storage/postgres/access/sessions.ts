import { createSessionTerms, type SessionTerms, tooManySessions } from '../../access/session-terms.js'
import { createSessionUses, type SessionUses } from '../../access/session-uses.js'
import type {
  ListedSession,
  NewSession,
  OpenSession,
  SessionQuery,
  SessionStore,
} from '../../access/sessions.js'
import type { TrustedClock } from '../../work/clock.js'
import type { PostgresDb, Rows } from '../connection/database.js'
import { readTogether } from '../connection/read-together.js'
import { type GroupOutcome, writeTogether } from '../connection/write-together.js'

/** State that the functions of the store share. */
interface Parts {
  readonly db: PostgresDb
  readonly clock: TrustedClock
  readonly uses: SessionUses
  readonly terms: SessionTerms
  /** @param token hex of its hash */
  byToken(token: string): Promise<TokenRow | undefined>
}

/**
 * Longest difference between the stored and the real last use of a session, µs. Short, because other processes
 * know the stored one alone: where a session moves to another process, it may end that much earlier.
 */
const MAX_LAG_US = 60_000_000

/** Most sessions that one transaction opens. */
const MOST_OPENED = 100

interface SessionRow extends OpenSession {
  createdAtUs: number
  lastUsedAtUs: number
  closedAtUs: number | null
}

const LISTED = `s.session_id AS "sessionId", s.key_id AS "keyId", s.created_at_us AS "createdAtUs",
  s.last_used_at_us AS "lastUsedAtUs", s.expires_at_us AS "expiresAtUs"`
/** Sessions that are neither closed nor over. Parameters: now, and the last use that is idle. */
const IS_OPEN = 's.closed_at_us IS NULL AND s.expires_at_us > $1 AND s.last_used_at_us > $2'
const IS_OF_VALID_KEY = 'k.revoked_at_us IS NULL AND (k.expires_at_us IS NULL OR k.expires_at_us > $1)'
const SELECT = `SELECT ${LISTED}, s.closed_at_us AS "closedAtUs" FROM session AS s`
const BY_ID = `${SELECT} WHERE session_id = $1`

/** Creates the session store. @param idleS time without a call that ends a session; 0 for none */
export function createSessionStore(db: PostgresDb, clock: TrustedClock, idleS = 0): SessionStore {
  const uses = createSessionUses(idleS * 1_000_000, MAX_LAG_US)
  const terms = createSessionTerms(clock, uses)
  const parts: Parts = { db, clock, uses, terms, byToken: createTokenReader(db) }
  return {
    open: createOpening(parts),
    findOpen: (tokenHash) => findOpen(parts, tokenHash),
    countOpen: (keyId, limit) => countOpen(parts, db.read, keyId, limit),
    noteUse: (sessionId) => uses.note(sessionId, clock.latestUs()), // as a term begins: see `SessionTerms`
    flushUses: (isLast = false) => flushUses(parts, isLast),
    list: (query) => listOpen(parts, query),
    async close(tokenHash) {
      const find =
        'SELECT session_id AS "sessionId" FROM session WHERE token_hash = $1 AND closed_at_us IS NULL'
      const row = await db.read.get<{ sessionId: string }>(find, Buffer.from(tokenHash))
      if (row !== undefined) await close(parts, row.sessionId) // no write for an unknown token
    },
    async end(sessionId, keyId) {
      const row = sessionId.includes('\u0000') ? undefined : await db.read.get<SessionRow>(BY_ID, sessionId)
      // one that seems idle may be in use: only the process that serves it knows its last use
      if (row === undefined || row.closedAtUs !== null || clock.hasPassed(row.expiresAtUs)) return undefined
      if (keyId !== null && row.keyId !== keyId) return undefined
      if (!(await close(parts, sessionId))) return undefined
      return { sessionId, keyId: row.keyId, expiresAtUs: row.expiresAtUs }
    },
    endAll: (keyId) => endAll(parts, keyId),
    listEnded: (limit) => listEnded(parts, limit),
    async remove(sessionIds) {
      await db.write((rows) =>
        rows.run('DELETE FROM session WHERE session_id = ANY($1::text[])', [...sessionIds]),
      )
      uses.forget(sessionIds)
    },
    async unknownOf(sessionIds) {
      const find = 'SELECT session_id AS "sessionId" FROM session WHERE session_id = ANY($1::text[])'
      const rows = await db.read.all<{ sessionId: string }>(find, [...sessionIds])
      const known = new Set(rows.map(({ sessionId }) => sessionId))
      return sessionIds.filter((sessionId) => !known.has(sessionId))
    },
  }
}

type Opened = Awaited<ReturnType<SessionStore['open']>>

/**
 * Creates the opening of sessions of one process. Those for a key take turns by the lock of its row, also with those of
 * other processes, so those that come at the same time share a transaction: each for itself, they would take all
 * connections to wait for each other.
 */
function createOpening(parts: Parts): SessionStore['open'] {
  const open = writeTogether<NewSession, Opened>({
    most: MOST_OPENED,
    keyOf: ({ sessionId }) => sessionId,
    write: (keyId, opened) =>
      parts.db.write((rows, { isRepeat }) => openSessions(parts, rows, { keyId, opened, isRepeat })),
  })
  return (opened) => open(opened.keyId, opened)
}

interface Opening {
  readonly keyId: string
  readonly opened: readonly NewSession[]
  readonly isRepeat: boolean
}

async function openSessions(
  parts: Parts,
  rows: Rows,
  { keyId, opened, isRepeat }: Opening,
): Promise<GroupOutcome<Opened>[]> {
  const made = isRepeat ? await sessionsOf(rows, opened) : new Map<string, SessionRow>()
  const limits = opened.flatMap(({ mostOpen }) => mostOpen ?? [])
  // openings for a key see each other's rows
  if (limits.length > 0) await rows.run('SELECT 1 FROM api_key WHERE key_id = $1 FOR NO KEY UPDATE', keyId)
  let open = limits.length === 0 ? 0 : await countOpen(parts, rows, keyId, Math.max(...limits))
  const begun: (NewSession & ReturnType<SessionTerms['begin']>)[] = []
  const outcomes = opened.map((each): GroupOutcome<Opened> => {
    const term = parts.terms.begin(each)
    const known = made.get(each.sessionId)
    if (known !== undefined) return { result: { expiresAtUs: known.expiresAtUs, lifeS: term.lifeS } }
    if (each.mostOpen !== undefined && open >= each.mostOpen) return { fault: tooManySessions(each.mostOpen) }
    open++
    begun.push({ ...each, ...term })
    return { result: { expiresAtUs: term.expiresAtUs, lifeS: term.lifeS } }
  })
  if (begun.length > 0)
    await rows.run(
      INSERT,
      ...[
        keyId,
        begun.map(({ sessionId }) => sessionId),
        begun.map(({ tokenHash }) => Buffer.from(tokenHash)),
      ],
      ...[begun.map(({ createdAtUs }) => createdAtUs), begun.map(({ expiresAtUs }) => expiresAtUs)],
      begun.map(({ startUs }) => startUs),
    )
  return outcomes
}

const INSERT = `INSERT INTO session (session_id, token_hash, key_id, created_at_us, expires_at_us, last_used_at_us)
  SELECT session_id, token_hash, $1, created_at_us, expires_at_us, start_us
  FROM unnest($2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS s (session_id, token_hash, created_at_us, expires_at_us, start_us)`

/** Returns those of an attempt before, whose commit may have taken place, by their ids. */
async function sessionsOf(rows: Rows, opened: readonly NewSession[]): Promise<Map<string, SessionRow>> {
  const ids = opened.map(({ sessionId }) => sessionId)
  const found = await rows.all<SessionRow>(`${SELECT} WHERE session_id = ANY ($1::text[])`, ids)
  return new Map(found.map((row) => [row.sessionId, row]))
}

const COUNT_OPEN = `SELECT 1 FROM session AS s WHERE ${IS_OPEN} AND s.key_id = $3 LIMIT $4`

async function countOpen({ terms }: Parts, rows: Rows, keyId: string, limit: number): Promise<number> {
  const { nowUs, idleBeforeUs } = terms.bounds()
  return (await rows.all(COUNT_OPEN, nowUs, idleBeforeUs, keyId, limit)).length
}

interface TokenRow extends SessionRow {
  tokenHash: Uint8Array
  keyRevokedAtUs: number | null
  keyExpiresAtUs: number | null
}

const BY_TOKENS = `SELECT ${LISTED}, s.token_hash AS "tokenHash", s.closed_at_us AS "closedAtUs",
    k.revoked_at_us AS "keyRevokedAtUs", k.expires_at_us AS "keyExpiresAtUs"
  FROM session AS s JOIN api_key AS k USING (key_id) WHERE s.token_hash = ANY ($1::bytea[])`

/** Reads sessions by their tokens. Each call has a token, so thousands are read in a second. */
function createTokenReader({ read }: PostgresDb): (token: string) => Promise<TokenRow | undefined> {
  return readTogether(async (tokens) => {
    const found = await read.all<TokenRow>(
      BY_TOKENS,
      tokens.map((hex) => Buffer.from(hex, 'hex')),
    )
    return new Map(found.map((row) => [hexOf(row.tokenHash), row]))
  })
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

async function findOpen({ clock, terms, byToken }: Parts, tokenHash: Uint8Array) {
  const row = await byToken(hexOf(tokenHash))
  if (row === undefined || row.closedAtUs !== null || row.keyRevokedAtUs !== null) return undefined
  if (terms.hasEnded(row) || clock.hasPassed(row.keyExpiresAtUs)) return undefined
  const { sessionId, keyId, expiresAtUs } = row
  return { sessionId, keyId, expiresAtUs }
}

async function listOpen(
  { db, uses, terms }: Parts,
  { keyId, limit, offset }: SessionQuery,
): Promise<ListedSession[]> {
  const { nowUs, idleBeforeUs } = terms.bounds()
  const rows = await db.read.all<ListedSession>(
    `SELECT ${LISTED} FROM session AS s JOIN api_key AS k USING (key_id)
      WHERE ${IS_OPEN} AND ${IS_OF_VALID_KEY} AND ($3::text IS NULL OR s.key_id = $3)
      ORDER BY s.created_at_us DESC, s.session_id LIMIT $4 OFFSET $5`,
    ...[nowUs, idleBeforeUs, keyId, limit, offset],
  )
  return rows.map((row) => ({
    ...row,
    lastUsedAtUs: uses.latest(row.sessionId, row.lastUsedAtUs),
    idleAtUs: terms.idleAtUs(row),
  }))
}

/** @returns false when another call closed it */
async function close({ db, clock, uses }: Parts, sessionId: string): Promise<boolean> {
  const update = 'UPDATE session SET closed_at_us = $2 WHERE session_id = $1 AND closed_at_us IS NULL'
  const isClosed = await db.write(async (rows, { isRepeat }) => {
    const closed = await rows.run(update, sessionId, clock.nowUs())
    return closed > 0 || isRepeat
  })
  uses.forget([sessionId])
  return isClosed
}

async function endAll({ db, clock, terms }: Parts, keyId: string): Promise<number> {
  const closedAtUs = clock.nowUs() // one time for all attempts, by which a repeat counts what was closed
  const { nowUs } = terms.bounds()
  return await db.write(async (rows, { isRepeat }) => {
    const closed = await rows.run(
      `UPDATE session AS s SET closed_at_us = $4 WHERE s.key_id = $3 AND ${IS_OPEN}`,
      ...[nowUs, -1, keyId, closedAtUs],
    )
    if (!isRepeat || closed > 0) return closed
    const count = 'SELECT 1 FROM session WHERE key_id = $1 AND closed_at_us = $2'
    return (await rows.all(count, keyId, closedAtUs)).length
  })
}

async function listEnded({ db, terms }: Parts, limit: number): Promise<string[]> {
  const { nowUs, idleBeforeUs } = terms.bounds()
  const rows = await db.read.all<{ sessionId: string }>(
    `SELECT s.session_id AS "sessionId" FROM session AS s JOIN api_key AS k USING (key_id)
      WHERE s.closed_at_us IS NOT NULL OR k.revoked_at_us IS NOT NULL OR s.expires_at_us <= $1
        OR k.expires_at_us <= $1 OR s.last_used_at_us <= $2 LIMIT $3`,
    ...[nowUs, idleBeforeUs, limit],
  )
  return rows.map(({ sessionId }) => sessionId)
}

async function flushUses({ db, uses }: Parts, isLast: boolean): Promise<void> {
  const unread = uses.unread()
  if (unread.length > 0) {
    const stored = await db.read.all<{ sessionId: string; usedUs: number }>(
      `SELECT session_id AS "sessionId", last_used_at_us AS "usedUs" FROM session
        WHERE session_id = ANY($1::text[])`,
      unread,
    )
    uses.read(unread, new Map(stored.map(({ sessionId, usedUs }) => [sessionId, usedUs])))
  }
  const due = uses.due(isLast).sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1)) // one order of locks for all
  if (due.length === 0) return
  await db.write((rows) =>
    rows.run(
      `UPDATE session AS s SET last_used_at_us = greatest(s.last_used_at_us, u.used_us)
        FROM unnest($1::text[], $2::bigint[]) AS u (session_id, used_us) WHERE s.session_id = u.session_id`,
      ...[due.map(({ sessionId }) => sessionId), due.map(({ usedUs }) => usedUs)],
    ),
  )
  uses.written(due)
}
