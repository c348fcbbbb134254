import type { PostgresDb } from '../connection/database.js'

/** Use of allowances with the same limit by one process. */
interface TakenAllowances {
  readonly perMinute: number
  /** owner → amount */
  readonly taken: ReadonlyMap<string, number>
}

/** Allowances that the processes of a hub share. */
export interface PostgresAllowances {
  /** Takes from allowances. @returns owner → what is left, below 0 where processes took more together */
  take(groups: readonly TakenAllowances[]): Promise<Map<string, number>>
  /** Removes allowances that are full again. */
  sweep(): Promise<void>
}

/** Deeper debts are forgotten: an owner waits for a minute at most. */
const TAKE = `INSERT INTO allowance AS a (owner, amount, at)
  SELECT t.owner, $1::float8 - t.taken, clock_timestamp()
    FROM unnest($2::text[], $3::float8[]) AS t (owner, taken)
  ON CONFLICT (owner) DO UPDATE SET at = clock_timestamp(), amount = greatest(-$1::float8,
    least($1::float8, a.amount + extract(epoch FROM clock_timestamp() - a.at) * $1::float8 / 60)
      + excluded.amount - $1::float8)
  RETURNING owner, amount`

/** Creates the shared allowances. The clock of the database refills them. */
export function createAllowanceRows(db: PostgresDb): PostgresAllowances {
  return {
    async take(groups) {
      const take = async (rows: Parameters<Parameters<PostgresDb['write']>[0]>[0]) => {
        const left = new Map<string, number>()
        for (const { perMinute, taken } of groups) {
          const owners = [...taken.keys()].sort() // one order of locks for all processes
          const amounts = owners.map((owner) => taken.get(owner) ?? 0)
          const found = await rows.all<{ owner: string; amount: number }>(TAKE, perMinute, owners, amounts)
          for (const { owner, amount } of found) left.set(owner, amount)
        }
        return left
      }
      // not repeated: callers wait for it, and each process counts for itself meanwhile
      return await db.write(take, { canRepeat: false })
    },
    async sweep() {
      await db.write((rows) =>
        rows.run(`DELETE FROM allowance WHERE at < clock_timestamp() - interval '2 minutes'`),
      )
    },
  }
}
