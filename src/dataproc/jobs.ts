import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../errors.js'
import type { BlobStore } from '../files/blob-store.js'
import { readBlob } from '../files/read-blob.js'
import type { Snapshot } from '../storage/citations.js'
import type { Keyring } from '../storage/keyring.js'
import type { RowBatches } from '../storage/row-batch.js'
import type { PutOptions } from '../storage/tables.js'
import type { WorkerClient } from '../worker/client.js'
import { throwIfCancelled, type WorkHandler } from '../worker/host.js'
import { type ExportedInput, type ExportItem, exportInputs } from './export-inputs.js'
import { type PutItem, putOutputs } from './put-outputs.js'

export interface DataprocJobStore {
  /** over the writing connection of this thread; the caller of a job holds the write lock */
  readonly batches: RowBatches
  readonly keyring: Keyring
  readonly timeZoneMin: number
  readonly files: Pick<BlobStore, 'open'>
  /** Returns how loader tables store records. */
  putOptions(nowUs: number): Omit<PutOptions, 'ifExists'>
  /** Opens a snapshot for the inputs of one run. */
  openSnapshot(): Snapshot
}

interface ExportJob {
  items: readonly ExportItem[]
  nowUs: number
}

interface PutJob {
  items: readonly PutItem[]
  nowUs: number
  /** element 0: what the main thread says of the commit */
  gate: Int32Array
}

/** What the main thread says when the rows are in place. */
const WAIT = 0
const COMMIT = 1
const TAKE_BACK = 2
/** The main thread looks after the same time at most; its own work takes milliseconds. */
const GATE_LIMIT_MS = 600_000
const GATE_LOOK_MS = 1

/** What runs of modules read and write of data.db, for the job worker. */
export function dataprocJobs(store: DataprocJobStore): Record<string, WorkHandler> {
  return {
    async 'dataproc.export'({ items, nowUs }: ExportJob, work): Promise<ExportedInput[]> {
      const states = store.openSnapshot()
      try {
        return await exportInputs(items, {
          states,
          nowUs,
          keyring: store.keyring,
          timeZoneMin: store.timeZoneMin,
          readFile: (digest) => readBlob(store.files, digest),
          onRows: () => throwIfCancelled(work),
        })
      } finally {
        await states.close()
      }
    },
    async 'dataproc.put'({ items, nowUs, gate }: PutJob, work): Promise<number[]> {
      const { batches, timeZoneMin } = store
      const check = () => throwIfCancelled(work)
      return await putOutputs(items, {
        batches,
        timeZoneMin,
        nowUs,
        throwIfCancelled: check,
        loader: { ...store.putOptions(nowUs), throwIfCancelled: check },
        async beforeCommit() {
          work.emit('prepared')
          await passGate(gate)
        },
      })
    },
  }
}

/** The main thread's way to it. */
export interface DataprocWork {
  exportInputs(items: readonly ExportItem[], nowUs: number, signal: AbortSignal): Promise<ExportedInput[]>
  /**
   * The caller holds the write lock.
   *
   * @param beforeCommit called when the rows are in place and seen by nobody; what it throws takes them back
   */
  putOutputs(
    items: readonly PutItem[],
    nowUs: number,
    beforeCommit: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<number[]>
}

export function dataprocWorkBy(jobs: Pick<WorkerClient, 'call'>): DataprocWork {
  return {
    exportInputs: (items, nowUs, signal) =>
      jobs.call('dataproc.export', { items, nowUs } satisfies ExportJob, { signal }),
    async putOutputs(items, nowUs, beforeCommit, signal) {
      const gate = new Int32Array(new SharedArrayBuffer(4))
      let fault: { error: unknown } | undefined
      const onEvent = async () => {
        try {
          if (signal.aborted) throw new AppError('CANCELLED')
          await beforeCommit()
          Atomics.store(gate, 0, COMMIT)
        } catch (error) {
          fault = { error }
          Atomics.store(gate, 0, TAKE_BACK)
        }
      }
      try {
        // not cut short by the signal: once the rows are in place, how it went must be known
        const job: PutJob = { items, nowUs, gate }
        return await jobs.call<number[]>('dataproc.put', job, { onEvent: () => void onEvent() })
      } catch (error) {
        throw fault === undefined ? error : fault.error
      }
    },
  }
}

async function passGate(gate: Int32Array): Promise<void> {
  for (let waitedMs = 0; Atomics.load(gate, 0) === WAIT; waitedMs += GATE_LOOK_MS) {
    if (waitedMs > GATE_LIMIT_MS) throw new Error('the main thread did not say whether to commit')
    await sleep(GATE_LOOK_MS)
  }
  if (Atomics.load(gate, 0) !== COMMIT) throw new AppError('CANCELLED')
}
