import { AppError } from '../errors.js'
import { createOwnerQueue } from '../owner-queue.js'
import type { PutResult, TableStore } from '../storage/tables.js'
import { createPause } from '../storage/work/pause.js'
import type { WorkerClient } from '../worker/client.js'
import { fromWire } from '../worker/wire-error.js'
import type { PutOutcome, SmallPut } from './put-jobs.js'

/** Parts of the main thread that a crowd of small calls uses. */
interface CrowdDeps {
  readonly tables: Pick<TableStore, 'inTurn'>
  /** client of the thread that writes for a crowd */
  readonly writers: Pick<WorkerClient, 'call'>
}

/** A call of a crowd. */
export interface CrowdPut {
  readonly put: SmallPut
  readonly signal: AbortSignal | undefined
}

/** A call that waits for its turn. */
interface Waiting extends CrowdPut {
  resolve(result: PutResult): void
  reject(error: unknown): void
}

/** Most calls of one turn, and most characters of their records: other writers wait some ten milliseconds. */
const MAX_PUTS = 64
const MAX_CHARS = 250_000
/** Owner of the turns at the database: they alternate with the large calls of each owner. */
const CROWD = 'calls of a crowd'
/** Longest stretch of answers between two turns of the event loop, ms. */
const SLICE_MS = 2

/**
 * Makes a writer for many small calls at once: a thread stores those that wait together, in one transaction,
 * so that neither the writing nor the sync of the disk holds up the main thread. Owners have turns.
 *
 * @returns a function that resolves when the records of a call are on disk. @throws AppError of the records,
 *   CANCELLED; Error when the thread ended
 */
export function createCrowd({ tables, writers }: CrowdDeps): (put: CrowdPut) => Promise<PutResult> {
  const queue = createOwnerQueue<Waiting>()
  let isTurnAsked = false
  const askTurn = () => {
    if (isTurnAsked || queue.size() === 0) return
    isTurnAsked = true
    void tables.inTurn(async () => {
      isTurnAsked = false
      const group = takeGroup(() => queue.take())
      const outcomes = await store(writers, group)
      void answer(group, outcomes) // without the turn: nobody waits for it
      askTurn() // what came too late for this group
    }, CROWD)
  }
  return (call) =>
    new Promise((resolve, reject) => {
      queue.push(call.put.owner, { ...call, resolve, reject })
      askTurn()
    })
}

function takeGroup(take: () => Waiting | undefined): Waiting[] {
  const group: Waiting[] = []
  let chars = 0
  while (group.length < MAX_PUTS && chars < MAX_CHARS) {
    const waiting = take()
    if (waiting === undefined) break
    if (waiting.signal?.aborted === true) {
      waiting.reject(new AppError('CANCELLED'))
      continue
    }
    group.push(waiting)
    chars += waiting.put.json.length
  }
  return group
}

/** Has the thread store the calls of a group. Never rejects: when the thread fails, each call does. */
async function store(writers: CrowdDeps['writers'], group: readonly Waiting[]): Promise<PutOutcome[]> {
  if (group.length === 0) return []
  try {
    const puts = group.map(({ put }) => put)
    return await writers.call<PutOutcome[]>('loader.putAll', puts)
  } catch (thrown) {
    return group.map(() => ({ thrown }))
  }
}

/** Answers in slices: the callers go on in between. */
async function answer(group: readonly Waiting[], outcomes: readonly PutOutcome[]): Promise<void> {
  const pause = createPause(undefined, SLICE_MS)
  for (const [at, { resolve, reject }] of group.entries()) {
    const outcome = outcomes[at] as PutOutcome // one of each call
    if ('result' in outcome) resolve(outcome.result)
    else reject('error' in outcome ? fromWire(outcome.error) : outcome.thrown)
    await pause() // also where no pause is due: what waits for the answer goes on
  }
}
