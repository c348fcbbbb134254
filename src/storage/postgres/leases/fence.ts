import { AsyncLocalStorage } from 'node:async_hooks'
import { AppError } from '../../../errors.js'
import type { PostgresDb, Rows } from '../connection/database.js'

/** Condition of a term, asked within each transaction of its work. @returns false once the term is over */
export type Holds = (rows: Rows) => Promise<boolean>

/** A database, and work whose writes to it are refused once a term is over. */
export interface Fence {
  /** the database for all that writes, in such work and outside of it */
  readonly db: PostgresDb
  /**
   * Runs work. Each of its transactions asks first, whoever begins it: functions below know nothing of the term.
   *
   * @throws AppError BUSY of a write after the term
   */
  under<T>(holds: Holds, work: () => Promise<T>): Promise<T>
}

/** Creates the fence of a database. */
export function createFence(db: PostgresDb): Fence {
  const terms = new AsyncLocalStorage<Holds>()
  return {
    db: {
      ...db,
      write(work, options) {
        const holds = terms.getStore()
        if (holds === undefined) return db.write(work, options)
        return db.write(async (rows, attempt) => {
          if (await holds(rows)) return await work(rows, attempt)
          throw new AppError('BUSY', { retryAfterS: 5 }, { message: 'Another process has this task now' })
        }, options)
      },
    },
    under: (holds, work) => terms.run(holds, work),
  }
}
