import { isAppError } from '../../../errors.js'
import type { Log } from '../../../log.js'
import type { DataDb } from '../connection/data-db.js'
import { retryBusy, transaction } from '../connection/database.js'
import { type CitationSums, findCitationById, isCitation, pendingCitations, recordSums } from './catalog.js'
import { createChecksumPass } from './checksum.js'

/** Works out checksums after their citations were made, one at a time. */
export interface SumsQueue {
  /** looks for citations without a checksum */
  wake(): void
  /** resolves when there is nothing left to do */
  settled(): Promise<void>
  /** stops; what was not finished is begun anew by the next run */
  close(): Promise<void>
}

export interface SumsOptions {
  data: DataDb
  log: Pick<Log, 'error'>
  /** another thread's way to do it, for what is large; in slices on this one when absent */
  compute?: (citationId: number) => Promise<CitationSums | undefined>
}

/** Citations of tables of no more rows are summed here: starting another thread would cost more. */
const MAX_ROWS_HERE = 20_000
/** Bulk jobs may be queueing. */
const RETRY_MS = 1000

const SLICE_MS = 4
/** As long as the work before it: callers get the larger half of the thread. */
const REST_MS = 5

export function createSumsQueue(options: SumsOptions): SumsQueue {
  const { data, log } = options
  const compute = (citationId: number) => {
    const isLarge = (findCitationById(data.reader, citationId)?.state.lastRowId ?? 0) > MAX_ROWS_HERE
    if (isLarge && options.compute !== undefined) return options.compute(citationId)
    return computeHere(data, citationId, () => isClosed)
  }
  const failed = new Set<number>()
  let isClosed = false
  let running: Promise<void> | undefined
  let isCalledAgain = false

  const attempt = async (citationId: number) => {
    try {
      const sums = await compute(citationId)
      if (sums !== undefined) await record(data, citationId, sums)
    } catch (error) {
      if (isClosed) return
      if (isAppError(error) && error.errorName === 'BUSY') return await rest(RETRY_MS)
      failed.add(citationId) // tried again by the next run
      log.error({ err: error, citationId }, 'a checksum could not be worked out')
    }
  }
  const work = async () => {
    while (!isClosed) {
      const next = pendingCitations(data.reader).find((id) => !failed.has(id))
      if (next === undefined) return
      await attempt(next)
    }
  }
  const wake = () => {
    isCalledAgain = running !== undefined
    if (isClosed || isCalledAgain) return
    running = work().finally(() => {
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

async function record(data: DataDb, citationId: number, sums: CitationSums): Promise<void> {
  const write = () => transaction(data.writer, () => recordSums(data.writer, citationId, sums))
  await data.lock.run(() => retryBusy(write))
}

/** @returns undefined when the citation has gone, or the gateway stops */
async function computeHere(
  data: DataDb,
  citationId: number,
  isClosed: () => boolean,
): Promise<CitationSums | undefined> {
  const citation = findCitationById(data.reader, citationId)
  if (citation === undefined) return undefined
  const pass = createChecksumPass(data.reader, citation)
  for (;;) {
    const sums = await pass.step(SLICE_MS)
    if (sums !== undefined) return sums
    await rest(REST_MS)
    if (isClosed() || !isCitation(data.reader, citationId)) {
      await pass.abandon()
      return undefined
    }
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
