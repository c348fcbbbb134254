import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../../errors.js'
import type { SweepLease } from '../../work/sweep-lease.js'
import type { PostgresDb, Rows } from '../connection/database.js'

export interface ByteLeaseOptions {
  /** time for which a lease lasts without its renewal, ms; a quarter of it is the time between renewals */
  readonly lastsMs: number
  /** longest wait of `keep` for a removal, ms */
  readonly waitMs: number
}

export const BYTE_LEASE: ByteLeaseOptions = { lastsMs: 60_000, waitMs: 20_000 }

/** One at a time; readers of other tables do not wait. */
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('fieldgate bytes', 0))`
const INSERT = `INSERT INTO byte_lease (holder, is_removal, ends_at)
  VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 ms') ON CONFLICT (holder) DO NOTHING`
/** A removal that has ended is over for good: another process may have got a lease since. */
const RENEW = `UPDATE byte_lease SET ends_at = clock_timestamp() + $2::bigint * interval '1 ms'
  WHERE holder = $1 AND (NOT is_removal OR ends_at > clock_timestamp())`
/** Time between two looks for the end of a removal, ms. */
const LOOK_MS = 200

/**
 * Creates the lease between processes that write bytes and one that removes some. Rows of the database hold it: each
 * ends by itself, so that a dead process keeps nobody out.
 *
 * `keep` must be given back after the row that names the bytes was written, and before that write is acknowledged. It
 * then says whether a removal may have run meanwhile, which it can only where this process was frozen or cut off for
 * the whole time of a lease; the caller repeats its write. A removal is confirmed before each object that it takes.
 */
export function createByteLease(
  db: PostgresDb,
  { lastsMs, waitMs }: ByteLeaseOptions = BYTE_LEASE,
): SweepLease {
  const take = (holder: string, isRemoval: boolean) =>
    db.write(async (rows, { isRepeat }) => {
      await rows.run(LOCK)
      if (isRepeat && (await rows.get('SELECT 1 FROM byte_lease WHERE holder = $1', holder)) !== undefined)
        return true
      if (await isTaken(rows, isRemoval)) return false
      await rows.run(INSERT, holder, isRemoval, lastsMs)
      return true
    })
  const release = async (holder: string) =>
    (await db.write((rows) => rows.run('DELETE FROM byte_lease WHERE holder = $1', holder))) > 0
  const hold = (holder: string) => {
    const timer = setInterval(() => {
      // a renewal that fails is repeated by the next one; a lease that ended is noticed at the release
      db.write((rows) => rows.run(RENEW, holder, lastsMs)).catch(() => undefined)
    }, lastsMs / 4)
    timer.unref()
    return () => clearInterval(timer)
  }
  const confirm = async (holder: string) => {
    const renewed = await db.write(async (rows) => {
      await rows.run(LOCK)
      return await rows.run(RENEW, holder, lastsMs)
    })
    if (renewed === 0)
      throw busy('The removal of unused bytes took too long, and writes may have begun meanwhile')
  }
  return {
    async keep() {
      const holder = randomUUID()
      for (let waitedMs = 0; !(await take(holder, false)); waitedMs += LOOK_MS) {
        if (waitedMs >= waitMs) throw busy('Unused bytes are being removed')
        await delay(LOOK_MS)
      }
      const stop = hold(holder)
      return async () => {
        stop()
        if (!(await release(holder)))
          throw busy('The write took too long, and bytes may have been removed meanwhile')
      }
    },
    async remove() {
      const holder = randomUUID()
      if (!(await take(holder, true))) return undefined
      const stop = hold(holder)
      return {
        confirm: () => confirm(holder),
        async release() {
          stop()
          await release(holder)
        },
      }
    },
  }
}

/** True while others exclude a lease. A removal is excluded by all, others by a removal; ended leases go first. */
async function isTaken(rows: Rows, isRemoval: boolean): Promise<boolean> {
  if (isRemoval) await rows.run('DELETE FROM byte_lease WHERE ends_at <= clock_timestamp()')
  const text = `SELECT 1 FROM byte_lease WHERE ${isRemoval ? 'true' : 'is_removal AND ends_at > clock_timestamp()'} LIMIT 1`
  return (await rows.get(text)) !== undefined
}

function busy(why: string): AppError {
  return new AppError('BUSY', { retryAfterS: 5 }, { message: `${why}; try again` })
}
