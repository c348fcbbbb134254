import { type Db, retryBusy, transaction, translate } from './database.js'

/** Writes of one database that are committed together. */
export interface StateWrites {
  /**
   * Runs a small write in a transaction, together with those that are asked for in the same turn of the event
   * loop: a commit costs a sync of the disk, whatever it holds. Each has a savepoint of its own.
   *
   * @returns what `work` returns, after the commit
   * @throws what `work` throws: nothing of it is stored then; AppError BUSY, DISK_FULL
   */
  run<T>(work: () => T): Promise<T>
  /** Resolves when no write waits. */
  settled(): Promise<void>
}

interface Waiting {
  readonly work: () => unknown
  resolve(result: unknown): void
  reject(error: unknown): void
}

type Outcome = { result: unknown } | { error: unknown }

/** Time after which a transaction takes no further write, ms: it holds the event loop. */
const GROUP_MS = 10

/**
 * Creates the writes of a connection that nobody else writes through.
 *
 * @param nowMs clock
 */
export function createStateWrites(db: Db, nowMs = () => performance.now()): StateWrites {
  const queue: Waiting[] = []
  let running: Promise<void> | undefined
  const runAll = async () => {
    while (queue.length > 0) {
      await turnOfLoop()
      const group = queue.splice(0)
      queue.unshift(...(await commit(db, group, nowMs)))
    }
    running = undefined
  }
  return {
    run: <T>(work: () => T) =>
      new Promise<T>((resolve, reject) => {
        queue.push({ work, resolve: (result) => resolve(result as T), reject }) // it is the result of `work`
        running ??= runAll()
      }),
    settled: async () => await running,
  }
}

function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Commits writes in one transaction. Never rejects. @returns writes for which there was no time */
async function commit(db: Db, group: readonly Waiting[], nowMs: () => number): Promise<readonly Waiting[]> {
  let outcomes: Outcome[] = []
  try {
    await retryBusy(() => {
      outcomes = []
      const endsAtMs = nowMs() + GROUP_MS
      transaction(db, () => {
        for (const { work } of group) {
          outcomes.push(runInSavepoint(db, work))
          if (nowMs() > endsAtMs) return
        }
      })
    })
  } catch (error) {
    // nothing is stored; those that had not run yet fail, too: they would meet the same disk
    for (const write of group) write.reject(error)
    return []
  }
  for (const [at, outcome] of outcomes.entries()) {
    const write = group[at] as Waiting // there is an outcome for each that ran
    if ('error' in outcome) write.reject(outcome.error)
    else write.resolve(outcome.result)
  }
  return group.slice(outcomes.length)
}

/** @throws the error when SQLite has ended the whole transaction, as it may when the disk is full */
function runInSavepoint(db: Db, work: () => unknown): Outcome {
  try {
    return { result: db.transaction(work)() } // a savepoint, as a transaction is open
  } catch (error) {
    if (!db.inTransaction) throw error
    return { error: translate(error) }
  }
}
