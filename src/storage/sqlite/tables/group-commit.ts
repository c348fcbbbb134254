import { createOwnerQueue, type OwnerQueue } from '../../../owner-queue.js'
import { createPause } from '../../work/pause.js'
import type { WriteLock } from '../../work/write-lock.js'
import { asyncTransaction, type Db, statement, translate } from '../connection/database.js'

/** A write that waits for its turn. */
interface Waiting {
  /** runs the write inside its savepoint */
  run(): Promise<void>
  /** answers the caller, after the commit */
  resolve(): void
  reject(error: unknown): void
}

/** Writes that are committed together. */
interface GroupCommit {
  /** Runs a write together with others. @param owner of the write: owners have turns */
  run<T>(owner: string, work: () => Promise<T>): Promise<T>
  /** Returns how long the last commit took, ms; 0 before the first. */
  commitMs(): number
}

/** Time after which a group takes no further write, ms: the others of this process wait meanwhile. */
const GROUP_MS = 20
/** Owner of the groups at the lock: they have turns with the large calls of each owner. */
const GROUP = 'small writes'
/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

/**
 * Makes a writer that commits calls that wait at the same time together: a commit costs a sync of the disk,
 * several milliseconds on an SD card, whatever it holds. Each call has a savepoint of its own, so that one
 * that fails leaves the others as they are, and is answered only after the commit of all. A group takes the
 * calls of each owner in turns, so that a thousand of one owner do not keep the single call of another waiting.
 *
 * @param lock taken for each group
 * @param nowMs clock
 * @returns `run` throws what `work` throws; when the commit fails, each call of the group fails with that
 *   error, and nothing of them is stored
 */
export function createGroupCommit(db: Db, lock: WriteLock, nowMs = () => performance.now()): GroupCommit {
  const queue = createOwnerQueue<Waiting>()
  let isTurnAsked = false
  let commitMs = 0
  const askTurn = () => {
    if (isTurnAsked || queue.size() === 0) return
    isTurnAsked = true
    void lock.run(async () => {
      isTurnAsked = false
      const answers = await commitGroup(db, queue, nowMs, (ms) => {
        commitMs = ms
      })
      void answerInTurns(answers) // without the lock: nobody waits for it
      if (queue.size() === 0) return
      await new Promise((resolve) => setImmediate(resolve)) // a commit blocks the event loop
      askTurn() // what came too late for this group
    }, GROUP)
  }
  return {
    run: (owner, work) =>
      new Promise((resolve, reject) => {
        let answer = () => reject(new Error('a write was committed before it ran'))
        queue.push(owner, {
          async run() {
            const result = await work()
            answer = () => resolve(result)
          },
          resolve: () => answer(),
          reject,
        })
        askTurn()
      }),
    commitMs: () => commitMs,
  }
}

/**
 * Runs the writes of a queue in one transaction, also those that come while it runs. Never rejects.
 *
 * One that is first and alone needs no savepoint: its failure ends the transaction. Within a savepoint each row of a
 * table with triggers, as one whose rows are counted has, costs SQLite a walk over the pages that were written before
 * it: 5,000 rows took twice to three times as long.
 *
 * @param onCommit receives how long the commit took
 * @returns answers to the callers
 */
async function commitGroup(
  db: Db,
  queue: OwnerQueue<Waiting>,
  nowMs: () => number,
  onCommit: (ms: number) => void,
): Promise<(() => void)[]> {
  const stored: Waiting[] = []
  const refused: (() => void)[] = []
  let alone: Waiting | undefined
  const endsAtMs = nowMs() + GROUP_MS
  const pause = createPause(undefined, SLICE_MS)
  try {
    const doneAtMs = await asyncTransaction(db, async () => {
      if (queue.size() === 1) alone = queue.take()
      if (alone !== undefined) {
        await alone.run()
        stored.push(alone)
      }
      for (let write = queue.take(); write !== undefined; write = queue.take()) {
        const { reject } = write
        const outcome = await runInSavepoint(db, write, stored)
        if (outcome !== undefined) refused.push(() => reject(outcome.error))
        if (nowMs() > endsAtMs) break
        const turn = pause()
        if (turn !== undefined) await turn
      }
      return nowMs()
    })
    onCommit(nowMs() - doneAtMs)
    return [...stored.map((write) => () => write.resolve()), ...refused]
  } catch (error) {
    // the transaction was its own; what came meanwhile is for the next group
    if (alone !== undefined && stored.length === 0) return [() => alone?.reject(error)]
    // the transaction did not begin
    if (stored.length + refused.length === 0)
      for (let write = queue.take(); write !== undefined; write = queue.take()) stored.push(write)
    return [...stored.map((write) => () => write.reject(error)), ...refused]
  }
}

/** Gives answers, in slices: those of a large group would block the event loop as long as its writes did. */
async function answerInTurns(answers: readonly (() => void)[]): Promise<void> {
  const pause = createPause(undefined, SLICE_MS)
  for (const answer of answers) {
    answer()
    await pause() // also where no pause is due: what waits for the answer goes on
  }
}

/**
 * Runs a write; `stored` receives it when it succeeds.
 *
 * @returns the error of a write that failed alone
 * @throws the error when SQLite has ended the whole transaction, as it may when the disk is full
 */
async function runInSavepoint(
  db: Db,
  write: Waiting,
  stored: Waiting[],
): Promise<{ error: unknown } | undefined> {
  statement(db, 'SAVEPOINT call').run()
  try {
    await write.run()
    statement(db, 'RELEASE call').run()
    stored.push(write)
    return undefined
  } catch (error) {
    if (!db.inTransaction) {
      stored.push(write)
      throw error
    }
    statement(db, 'ROLLBACK TO call').run()
    statement(db, 'RELEASE call').run()
    return { error: translate(error) }
  }
}
