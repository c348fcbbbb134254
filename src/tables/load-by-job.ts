import { randomUUID } from 'node:crypto'
import { isAppError } from '../errors.js'
import type { Log } from '../log.js'
import type { PutResult, TableStore } from '../storage/tables.js'
import type { WriteLock } from '../storage/work/write-lock.js'
import type { WorkerClient } from '../worker/client.js'
import type { LoadJob, StageStep } from './load-jobs.js'

/** Parts of the main thread that a load by the job thread uses. */
interface LoadDeps {
  readonly tables: Pick<TableStore, 'inTurn'>
  readonly jobs: Pick<WorkerClient, 'call'>
  /** turns of the loads, before those at the database */
  readonly loadTurns: WriteLock
  readonly log: Pick<Log, 'error'>
}

/** Caller of a load. */
interface LoadCaller {
  /** key: owners have turns */
  readonly owner?: string
  readonly signal?: AbortSignal
}

/**
 * Has the job thread store records. They are read and checked while other writers go on; the turn at the
 * database is taken for the transaction alone, and given back before the log is moved into the file.
 *
 * @throws AppError of the records, CANCELLED, BUSY
 */
export function loadByJob(deps: LoadDeps, { owner, signal }: LoadCaller, load: LoadJob): Promise<PutResult> {
  const { tables, jobs, loadTurns, log } = deps
  const id = randomUUID()
  const options = signal === undefined ? {} : { signal }
  const stage = async () => {
    let step: StageStep = { id, load }
    while (!(await jobs.call<boolean>('loader.stage', step, options))) step = { id }
  }
  return new Promise((resolve, reject) => {
    let isStored = false
    const store = (giveBack: () => void) =>
      jobs.call(
        'loader.store',
        { id },
        {
          ...options,
          onEvent(result) {
            isStored = true
            resolve(result as PutResult) // the only event of the handler
            giveBack()
          },
        },
      )
    void loadTurns.run(async () => {
      try {
        await stage()
        await inTurnUntil(tables, owner, store)
      } catch (error) {
        if (!isStored) {
          reject(error)
          await jobs.call('loader.discard', { id }).catch(() => undefined) // a thread that has ended holds nothing
        } else if (!(isAppError(error) && error.errorName === 'CANCELLED'))
          // the caller has gone, or the gateway stops: the log is moved with the next load, or by the stop itself
          log.error({ err: error }, 'the log of data.db could not be moved into the file')
      }
    }, owner)
  })
}

/** Runs `work`, which gives the turn at the database back before it ends. */
async function inTurnUntil(
  { inTurn }: Pick<TableStore, 'inTurn'>,
  owner: string | undefined,
  work: (giveBack: () => void) => Promise<unknown>,
): Promise<void> {
  let working: Promise<unknown> = Promise.resolve()
  await inTurn(
    () =>
      new Promise<void>((giveBack) => {
        working = work(giveBack)
        working.then(
          () => giveBack(),
          () => giveBack(),
        ) // its fault is that of the call
      }),
    owner,
  )
  await working
}
