import { messageOf } from '../../errors.js'
import type { Log } from '../../log.js'
import type { Reject } from '../../storage/ingest.js'
import type { Timers } from '../mqtt/timers.js'
import type { PendingRow, RowSink } from '../row-sink.js'

export interface RowQueueDeps {
  /** name of the bus */
  readonly bus: string
  readonly sink: RowSink
  /** most rows that wait */
  readonly maxRows: number
  /** Keeps readings that cannot be stored; they are on disk when it returns. */
  reject(rejects: readonly Omit<Reject, 'seq'>[]): Promise<void>
  nowUs(): number
  readonly timers: Timers
  readonly log: Pick<Log, 'error' | 'info' | 'warn'>
}

/** Counters since the queue was created. */
export interface RowCounts {
  /** rows that are on disk, also those whose key existed */
  rows: number
  /** rows whose key existed */
  repeats: number
  rejects: number
  /** rows that waited for too long, and gave way to newer ones */
  lost: number
}

/** Rows of a bus on their way to disk. No device repeats a reading, so they wait here while none can be stored. */
export interface RowQueue {
  add(row: PendingRow, device: string): void
  /** Keeps a reading that makes no row, with the reason. */
  refuse(device: string, reason: string, record: unknown): void
  readonly counts: Readonly<RowCounts>
  waiting(): number
  /** why nothing is stored; null while rows are */
  fault(): string | null
  /** Tries once more to store what waits. */
  stop(): Promise<void>
}

/** A row, or a reading without one, that waits. */
interface Waiting {
  readonly device: string
  readonly row: PendingRow | undefined
  readonly record: unknown
  readonly reason: string | undefined
}

/** Most rows that are stored together. */
const GROUP_ROWS = 500
/** Bytes of a reading that are kept with the reason why it was rejected. */
const SAMPLE_BYTES = 1024
const RETRY_MS = 500
const RETRY_CAP_MS = 30_000

/** Creates the queue of a bus. */
export function createRowQueue(deps: RowQueueDeps): RowQueue {
  const { bus, timers, log, maxRows } = deps
  const counts: RowCounts = { rows: 0, repeats: 0, rejects: 0, lost: 0 }
  let queue: Waiting[] = []
  let inGroup: Waiting[] = []
  let running: Promise<void> | undefined
  let timer: unknown
  let waitMs = RETRY_MS
  let fault: string | null = null
  let isStopped = false

  const storeAll = async () => {
    while (queue.length > 0) {
      inGroup = queue.splice(0, GROUP_ROWS)
      await storeGroup(deps, inGroup, counts)
      inGroup = []
    }
  }
  /** Lets the oldest go while too many wait. */
  const trim = () => {
    if (queue.length > maxRows) counts.lost += queue.splice(0, queue.length - maxRows).length
  }
  const attempt = async () => {
    try {
      await storeAll()
      if (fault !== null) log.info({ bus }, 'readings are stored again')
      fault = null
      waitMs = RETRY_MS
    } catch (error) {
      if (fault === null) log.error({ err: error, bus }, 'readings cannot be stored; they wait')
      fault = messageOf(error)
      queue = [...inGroup, ...queue]
      inGroup = []
      trim()
      if (!isStopped) timer = timers.set(begin, waitMs)
      waitMs = Math.min(RETRY_CAP_MS, waitMs * 2)
    }
    running = undefined
    if (queue.length > 0 && fault === null && !isStopped) begin()
  }
  const begin = () => {
    timers.clear(timer)
    timer = undefined
    running ??= attempt()
  }
  const push = (waiting: Waiting) => {
    queue.push(waiting)
    trim()
    if (fault === null && !isStopped) begin()
  }
  return {
    add: (row, device) => push({ device, row, record: row.record, reason: undefined }),
    refuse: (device, reason, record) => push({ device, row: undefined, record, reason }),
    counts,
    waiting: () => queue.length + inGroup.length,
    fault: () => fault,
    async stop() {
      isStopped = true
      await running
      begin()
      await running
      if (queue.length > 0)
        log.warn({ bus, rows: queue.length, reason: fault }, 'readings that could not be stored are lost')
    },
  }
}

/** Stores rows, and the reasons of those that are refused. @throws Error of a fault that passes */
async function storeGroup(deps: RowQueueDeps, group: readonly Waiting[], counts: RowCounts): Promise<void> {
  const rows = group.flatMap(({ row }) => (row === undefined ? [] : [row]))
  const isDecided = new Set(rows.filter(({ outcome }) => outcome !== undefined))
  const repeats = rows.every((row) => isDecided.has(row)) ? 0 : await storeRows(deps, rows, counts, isDecided)
  counts.repeats += repeats
  const rejects = group.flatMap((waiting) => rejectOf(deps, waiting))
  if (rejects.length === 0) return
  await deps.reject(rejects)
  counts.rejects += rejects.length
}

/** Stores rows; counts those that were decided before this attempt once. @returns rows whose key existed */
async function storeRows(
  { sink }: RowQueueDeps,
  rows: readonly PendingRow[],
  counts: RowCounts,
  wasDecided: ReadonlySet<PendingRow>,
): Promise<number> {
  try {
    return await sink.store(rows)
  } finally {
    counts.rows += rows.filter((row) => row.outcome === 'stored' && !wasDecided.has(row)).length
  }
}

function rejectOf(
  { bus, nowUs }: RowQueueDeps,
  { device, row, record, reason }: Waiting,
): Omit<Reject, 'seq'>[] {
  const refused = typeof row?.outcome === 'object' ? row.outcome.refused : reason
  if (refused === undefined) return []
  const text = Buffer.from(JSON.stringify(record))
  const payload = text.subarray(0, SAMPLE_BYTES)
  return [{ atUs: nowUs(), broker: bus, topic: device, reason: refused, payload, payloadBytes: text.length }]
}
