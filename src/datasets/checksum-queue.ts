import { isAppError } from '../errors.js'
import type { Log } from '../log.js'
import type { CitationStore, CitationSums } from '../storage/datasets/citations.js'

/** Computes checksums after their citations were made, one at a time. */
interface ChecksumQueue {
  /** Starts work on citations without a checksum. */
  wake(): void
  /** Resolves when nothing is left to do. */
  settled(): Promise<void>
  /** Stops; the next run of the program starts an unfinished checksum again. */
  close(): Promise<void>
}

interface ChecksumQueueOptions {
  readonly citations: Pick<CitationStore, 'findById' | 'pending' | 'openChecksum' | 'recordSums'>
  readonly log: Pick<Log, 'error'>
  /**
   * computes large checksums on another thread; absent where there is none. Undefined when the citation was
   * removed
   */
  compute?(citationId: number): Promise<CitationSums | undefined>
}

/** Citations of at most this many rows are summed on this thread: starting another one takes longer. */
const MAX_ROWS_HERE = 20_000
/** Wait after BUSY: bulk jobs may fill the queue of the other thread. */
const RETRY_MS = 1000
/** Longest stretch of work without letting the event loop turn. */
const SLICE_MS = 4
/** Pause after each slice: callers get the larger share of the thread. */
const REST_MS = 5

/** Creates a queue, idle until `wake` is called. */
export function createChecksumQueue(options: ChecksumQueueOptions): ChecksumQueue {
  const { citations, log } = options
  const failed = new Set<number>()
  let isClosed = false
  let running: Promise<void> | undefined
  let isCalledAgain = false

  const compute = async (citationId: number): Promise<CitationSums | undefined> => {
    const citation = await citations.findById(citationId)
    if (citation === undefined) return undefined
    if (citation.lastRowId > MAX_ROWS_HERE && options.compute !== undefined)
      return await options.compute(citationId)
    return await computeHere(citations, citationId, () => isClosed)
  }
  const attempt = async (citationId: number) => {
    try {
      const sums = await compute(citationId)
      if (sums === undefined || (await citations.recordSums(citationId, sums))) return
      const err = Object.assign(new Error('the rows do not have the recorded checksum'), {
        code: 'DIGEST_MISMATCH',
      })
      log.error({ err, citationId }, 'the rows of a citation are damaged; reading it fails from now on')
    } catch (error) {
      if (isClosed) return
      if (isAppError(error) && error.errorName === 'BUSY') return await rest(RETRY_MS)
      failed.add(citationId) // the next run of the program tries again
      log.error({ err: error, citationId }, 'a checksum could not be computed')
    }
  }
  const work = async () => {
    while (!isClosed) {
      const pending = await citations.pending()
      const next = pending.find((id) => !failed.has(id))
      if (next === undefined) return
      await attempt(next)
    }
  }
  const wake = () => {
    isCalledAgain = running !== undefined
    if (isClosed || isCalledAgain) return
    running = work()
      .catch((error: unknown) => {
        if (!isClosed) log.error({ err: error }, 'the checksums that are due cannot be read') // until the next `wake`
      })
      .finally(() => {
        running = undefined
        if (isCalledAgain) wake()
      })
  }
  return {
    wake,
    async settled() {
      while (running !== undefined) await running
    },
    async close() {
      isClosed = true
      await running
    },
  }
}

/** Returns undefined when the citation was removed, or the queue is closing. */
async function computeHere(
  citations: ChecksumQueueOptions['citations'],
  citationId: number,
  isClosed: () => boolean,
): Promise<CitationSums | undefined> {
  const pass = await citations.openChecksum(citationId)
  if (pass === undefined) return undefined
  for (;;) {
    const sums = await pass.step(SLICE_MS)
    if (sums !== undefined) return sums
    await rest(REST_MS)
    if (isClosed() || (await citations.findById(citationId)) === undefined) {
      await pass.abandon()
      return undefined
    }
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
