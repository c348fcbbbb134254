import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../errors.js'
import type { BlobStore } from '../files/blob-store.js'
import { readBlob } from '../files/read-blob.js'
import type { Snapshot } from '../storage/datasets/citations.js'
import type { Keyring } from '../storage/keyring.js'
import type { RowBatches } from '../storage/row-batch.js'
import type { PutOptions } from '../storage/tables.js'
import type { WorkerClient } from '../worker/client.js'
import { throwIfCancelled, type WorkHandler } from '../worker/host.js'
import { type ExportedInput, type ExportItem, exportInputs } from './export-inputs.js'
import { type PutItem, putOutputs } from './put-outputs.js'

interface DataprocJobStore {
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
  /** element 0: decision of the main thread about the commit */
  gate: Int32Array
}

/** Decisions of the main thread when the rows are written. */
const WAIT = 0
const COMMIT = 1
const ROLL_BACK = 2
/** Longest wait for the decision; the main thread usually takes milliseconds. */
const GATE_LIMIT_MS = 600_000
/** Interval of polling the decision. */
const GATE_POLL_MS = 1

/** Returns the handlers of the job thread that read inputs and write outputs of runs. */
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

/** Client of these handlers. */
export interface DataprocWork {
  exportInputs(items: readonly ExportItem[], nowUs: number, signal: AbortSignal): Promise<ExportedInput[]>
  /**
   * Writes the outputs of a run. The caller holds the write lock.
   *
   * @param beforeCommit called when the rows are written and not yet committed; what it throws rolls them
   *   back
   */
  putOutputs(
    items: readonly PutItem[],
    nowUs: number,
    beforeCommit: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<number[]>
}

/** Returns the client, for the main thread. */
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
          Atomics.store(gate, 0, ROLL_BACK)
        }
      }
      try {
        // the signal does not end this call: the result must be known once the rows are written
        const job: PutJob = { items, nowUs, gate }
        return await jobs.call<number[]>('dataproc.put', job, { onEvent: () => void onEvent() })
      } catch (error) {
        throw fault === undefined ? error : fault.error
      }
    },
  }
}

async function passGate(gate: Int32Array): Promise<void> {
  for (let waitedMs = 0; Atomics.load(gate, 0) === WAIT; waitedMs += GATE_POLL_MS) {
    if (waitedMs > GATE_LIMIT_MS) throw new Error('the main thread did not decide about the commit')
    await sleep(GATE_POLL_MS)
  }
  if (Atomics.load(gate, 0) !== COMMIT) throw new AppError('CANCELLED')
}
