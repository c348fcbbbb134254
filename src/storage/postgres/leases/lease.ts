import type { Attempt, Rows } from '../connection/database.js'
import type { Fence } from './fence.js'

/** Time during which one process does a task. */
export interface Term {
  /** grows with each change of the holder */
  readonly epoch: number
  /**
   * Lengthens the term from now on. Call it several times within the time of a lease.
   *
   * @returns false when another process has the task, or had it: this term is over for good
   */
  renew(): Promise<boolean>
  /**
   * Runs a transaction while the term lasts. A process that was frozen, or cut off, finds out here at the latest:
   * the row of the lease stays locked until the commit, so no other process can begin a term before it.
   *
   * @returns undefined, and writes nothing, when the term is over
   */
  write<T>(work: (rows: Rows, attempt: Attempt) => Promise<T>): Promise<T | undefined>
  /**
   * Runs work of which every write to the database is such a transaction, whichever function makes it.
   *
   * @throws AppError BUSY of the first write after the term
   */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Ends the term, so that another process need not wait for its end. */
  end(): Promise<void>
}

/** Tasks that one process of a hub does at a time, such as sweeps. */
export interface Leases {
  /** Begins a term. @returns undefined while another process has the task */
  begin(task: string): Promise<Term | undefined>
}

export interface LeaseOptions {
  /** id of this process, another one after each start */
  readonly holder: string
  /** time for which a term lasts without `renew`, ms */
  readonly lastsMs: number
}

/** The clock of the database decides: those of processes differ. */
const TAKE = `INSERT INTO lease (task, epoch, holder, ends_at)
  VALUES ($1, 1, $2, clock_timestamp() + $3::bigint * interval '1 ms')
  ON CONFLICT (task) DO UPDATE SET epoch = lease.epoch + 1, holder = excluded.holder, ends_at = excluded.ends_at
    WHERE lease.ends_at <= clock_timestamp()
  RETURNING epoch`
const RENEW = `UPDATE lease SET ends_at = clock_timestamp() + $3::bigint * interval '1 ms'
  WHERE task = $1 AND epoch = $2 AND ends_at > clock_timestamp()`
const HOLD = `SELECT 1 FROM lease WHERE task = $1 AND epoch = $2 AND ends_at > clock_timestamp() FOR SHARE`
const END = 'UPDATE lease SET ends_at = clock_timestamp() WHERE task = $1 AND epoch = $2'

/** Creates the leases. An advisory lock would not do: a frozen process keeps it for ever. */
export function createLeases(fence: Fence, { holder, lastsMs }: LeaseOptions): Leases {
  const { db } = fence
  return {
    async begin(task) {
      const taken = await db.write(async (rows, { isRepeat }) => {
        const row = await rows.get<{ epoch: number }>(TAKE, task, holder, lastsMs)
        if (row !== undefined || !isRepeat) return row
        const own = 'SELECT epoch FROM lease WHERE task = $1 AND holder = $2 AND ends_at > clock_timestamp()'
        return await rows.get<{ epoch: number }>(own, task, holder)
      })
      return taken === undefined ? undefined : termOf(fence, { task, epoch: taken.epoch, lastsMs })
    },
  }
}

interface Taken {
  readonly task: string
  readonly epoch: number
  readonly lastsMs: number
}

function termOf({ db, under }: Fence, { task, epoch, lastsMs }: Taken): Term {
  const holds = async (rows: Rows) => (await rows.get(HOLD, task, epoch)) !== undefined
  return {
    epoch,
    renew: () => db.write(async (rows) => (await rows.run(RENEW, task, epoch, lastsMs)) > 0),
    write: (work) =>
      db.write(async (rows, attempt) => ((await holds(rows)) ? await work(rows, attempt) : undefined)),
    run: (work) => under(holds, work),
    async end() {
      await db.write((rows) => rows.run(END, task, epoch))
    },
  }
}
