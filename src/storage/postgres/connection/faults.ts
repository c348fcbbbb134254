import { AppError, isAppError, messageOf } from '../../../errors.js'

/**
 * Kind of a failure of the database.
 *
 * - `lost`: no connection, or it ended; a commit under way may have taken place
 * - `not primary`: the host does not take writes any more
 * - `conflict`: another transaction was in the way; nothing was written
 * - `crowded`: the server or this process has no free connection
 * - `full`: the disk of the database is full
 * - `slow`: a limit of time ended the statement
 * - `not replicated`: the write may be on the primary alone
 */
export type FaultKind = 'lost' | 'not primary' | 'conflict' | 'crowded' | 'full' | 'slow' | 'not replicated'

/** Codes of failures that are noticed here and not by the server. */
export const NO_PRIMARY = 'DATABASE_NO_PRIMARY'
export const NO_CONNECTION = 'DATABASE_NO_CONNECTION'
export const SILENT = 'DATABASE_SILENT'
export const NOT_REPLICATED = 'DATABASE_NOT_REPLICATED'

/** Codes of PostgreSQL (appendix A of its manual), of Node's sockets, and of this room. */
const KINDS: readonly (readonly [RegExp, FaultKind])[] = [
  // class 08, and 57P01 to 57P03: the server stops, crashed or starts; 25P03, 25P04 and 57P05: a limit of time ended
  // the session, as when this process was frozen inside a transaction
  [/^(?:08...|57P01|57P02|57P03|57P05|25P03|25P04)$/, 'lost'],
  [/^(?:ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, 'lost'],
  // a name that cannot be resolved now, and the socket file of a server that is not there
  [/^(?:EAI_AGAIN|ENOTFOUND|ENOENT)$/, 'lost'],
  [new RegExp(`^(?:${NO_PRIMARY}|${SILENT})$`), 'lost'],
  [/^25006$/, 'not primary'],
  // the row came and went between two statements, or two transactions waited for each other
  [/^(?:40001|40P01)$/, 'conflict'],
  [new RegExp(`^(?:53300|${NO_CONNECTION})$`), 'crowded'],
  [/^53100$/, 'full'],
  [/^(?:57014|55P03|53200)$/, 'slow'],
  [new RegExp(`^${NOT_REPLICATED}$`), 'not replicated'],
]

/** Failures of the driver that carry no code. */
const LOST_MESSAGE = /^(?:Connection terminated|Client (?:has encountered|was closed)|timeout expired)/

/** Kind of a failure; undefined for one that a repeat does not change, such as a broken constraint. */
export function faultKind(error: unknown): FaultKind | undefined {
  const code = codeOf(error)
  if (code === '') return LOST_MESSAGE.test(messageOf(error)) ? 'lost' : undefined
  return KINDS.find(([codes]) => codes.test(code))?.[1]
}

/** Code of PostgreSQL or Node; empty for none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** An error with a code of this room. */
export function faultOf(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code })
}

const OF_DATABASE = ['DATABASE_UNAVAILABLE', 'BUSY', 'TIME_LIMIT', 'DISK_FULL']

/** Reports whether an error is one of `toDatabaseError`: other work at the same time would meet it, too. */
export function isDatabaseFault(error: unknown): boolean {
  return isAppError(error) && OF_DATABASE.includes(error.errorName)
}

/** Wait until a fail-over may be over, s: Patroni needs 5 to 20. */
const FAIL_OVER_S = 5

/** Wait of who found no free connection, s: from, and up to. Those who are refused at one time return one by one. */
const CROWDED_S = [2, 12] as const

/**
 * Returns the error that leaves this room. Callers get no addresses and no SQL; those are in its cause, for the
 * log.
 *
 * @param random returns numbers from 0 to 1
 */
export function toDatabaseError(error: unknown, random: () => number): unknown {
  const unavailable = (message: string) =>
    new AppError('DATABASE_UNAVAILABLE', { retryAfterS: FAIL_OVER_S }, { message, cause: error })
  switch (faultKind(error)) {
    case undefined:
      return error
    case 'lost':
    case 'not primary':
      return unavailable('The database cannot be reached; nothing was acknowledged')
    case 'not replicated':
      return unavailable('The write is not on a standby of the database; it was not acknowledged')
    case 'conflict':
      return new AppError(
        'BUSY',
        { retryAfterS: 1 },
        { message: 'Other writes were in the way', cause: error },
      )
    case 'crowded': {
      const [least, most] = CROWDED_S
      const message = 'All connections to the database are in use'
      return new AppError(
        'BUSY',
        { retryAfterS: Math.round(least + random() * (most - least)) },
        { message, cause: error },
      )
    }
    case 'full':
      return new AppError('DISK_FULL', {}, { message: 'The disk of the database is full', cause: error })
    case 'slow':
      return new AppError(
        'TIME_LIMIT',
        {},
        { message: 'A statement of the database took longer than its limit', cause: error },
      )
  }
}
