import { isAppError, messageOf } from '../errors.js'
import type { Log } from '../log.js'
import type { RetentionStore, RuledTable } from '../storage/retention.js'
import type { LoaderTable } from '../storage/tables.js'
import { type DiskDeps, freeDisk } from './free-disk.js'
import { createStepSize, type PassResult, type Places, passOver } from './pass.js'

export interface RetentionDeps extends DiskDeps {
  /** Notes the free space, when it is time. */
  sampleDisk(): Promise<void>
  /** Rejects when the signal fires. */
  pause(ms: number, signal: AbortSignal): Promise<void>
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
}

/** State of the last pass over a table. */
export interface PassState extends PassResult {
  /** why it ended early; null when it did not */
  readonly fault: string | null
}

/** Removal of old rows in the background. */
export interface RetentionRunner {
  /** Begins a round at once. */
  wake(): void
  /** Returns the state of the last pass over a table; undefined before the first one. */
  stateOf(tableId: number): PassState | undefined
  /** Rows removed since the start of the program. */
  removedRows(): number
  /** True while the disk is below the mark and the tables that give rows have none left. */
  isShort(): boolean
  stop(): Promise<void>
}

/** Time between two rounds, ms: rules hold within a minute. */
const ROUND_MS = 30_000
/** Share of the time that removal may take, and the same where the disk is below the mark. */
const SHARE = 0.1
const SHARE_SHORT = 0.5
const LEAST_PAUSE_MS = 10
/** Share of a file without rows from which on it gives pages back, and what it keeps of them. */
const GIVES_BACK = 0.25
const KEEPS = 0.1
/** Least time between two sweeps of files, ms. */
const SWEEP_MS = 600_000
/** Pages without rows that are not worth giving back: 4 MiB. */
const LEAST_PAGES = 1024

/** Starts the removal of old rows. */
export function startRetention(deps: RetentionDeps): RetentionRunner {
  const stopping = new AbortController()
  const { signal } = stopping
  const states = new Map<number, PassState>()
  const places: Places = new Map()
  const size = createStepSize()
  const counts = { removed: 0, isShort: false, filesLeft: false, fault: '' }
  let wake: () => void = () => undefined
  const rest = async (tookMs: number, share = SHARE) =>
    await deps.pause(Math.max(LEAST_PAUSE_MS, (tookMs / share) * (1 - share)), signal)

  let sweptAtMs = Number.NEGATIVE_INFINITY
  /** Reads the digests of all rows: not too often. @returns false when it is too early */
  const sweep = async () => {
    if (performance.now() - sweptAtMs < SWEEP_MS) return false
    sweptAtMs = performance.now()
    await deps.sweepFiles()
    return true
  }
  const round = async () => {
    await deps.sampleDisk()
    const retained = await deps.store.rules()
    for (const tableId of states.keys())
      if (!retained.some(({ table }) => table.tableId === tableId)) states.delete(tableId)
    await inTurns(deps, retained, { places, size, states, signal, rest })
    for (const { table } of retained) counts.removed += states.get(table.tableId)?.removed ?? 0
    const freed = await freeDisk(deps, size, (ms) => rest(ms, SHARE_SHORT))
    counts.removed += freed.removed
    noteShort(deps, counts, freed.isShort)
    await giveBack(deps.store, rest)
    const hasFiles = retained.some(
      ({ table }) =>
        table.columns.some(({ file }) => file !== null) && (states.get(table.tableId)?.removed ?? 0) > 0,
    )
    if (hasFiles || counts.filesLeft) counts.filesLeft = !(await sweep())
  }
  const run = async () => {
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      try {
        await round()
        counts.fault = ''
      } catch (error) {
        if (signal.aborted) return
        const fault = messageOf(error)
        if (fault !== counts.fault) deps.log.error({ err: error }, 'old rows could not be removed')
        counts.fault = fault
      }
      await Promise.race([deps.pause(ROUND_MS, signal), woken]).catch(() => undefined) // it fails when it is stopped
    }
  }
  const running = run()
  return {
    wake: () => wake(),
    stateOf: (tableId) => states.get(tableId),
    removedRows: () => counts.removed,
    isShort: () => counts.isShort,
    async stop() {
      stopping.abort()
      await running
    },
  }
}

interface TurnParts {
  readonly places: Places
  readonly size: ReturnType<typeof createStepSize>
  readonly states: Map<number, PassState>
  readonly signal: AbortSignal
  rest(tookMs: number): Promise<void>
}

/** Does the passes over all tables, a step of each in turn: a large one lets the others have theirs. */
async function inTurns(
  deps: RetentionDeps,
  retained: readonly RuledTable[],
  { places, size, states, signal, rest }: TurnParts,
): Promise<void> {
  const passes = new Map(retained.map((one) => [one, passOver(deps, one, { places, size })]))
  while (passes.size > 0)
    for (const [one, pass] of passes) {
      const { table } = one
      try {
        const next = await pass.next()
        if (next.done !== true) {
          await rest(next.value)
          continue
        }
        states.set(table.tableId, { ...next.value, fault: null })
        const { removed, waiting } = next.value
        if (removed > 0) deps.log.info({ table: table.dataName, removed, waiting }, 'old rows were removed')
      } catch (error) {
        if (signal.aborted) throw error
        noteFault(deps, states, table, error)
      }
      passes.delete(one)
      await deps.pause(0, signal) // many tables of which nothing goes
    }
}

/** Notes why the pass over a table has ended early; the log has each fault once. */
function noteFault(
  { log }: RetentionDeps,
  states: Map<number, PassState>,
  { tableId, dataName }: LoaderTable,
  error: unknown,
): void {
  // what a database says is for the log
  const fault = isAppError(error) ? messageOf(error) : 'an internal fault; the log has the reason'
  const before = states.get(tableId)
  states.set(tableId, { removed: 0, waiting: 0, slowest: null, fault })
  if (before?.fault !== fault) log.warn({ table: dataName, err: error }, 'old rows stay')
}

function noteShort({ log }: RetentionDeps, counts: { isShort: boolean }, isShort: boolean): void {
  if (isShort && !counts.isShort)
    log.warn(
      'the disk is below retention.minFreeBytes, and no table of retention.giveFirst has rows that may go',
    )
  counts.isShort = isShort
}

/** Gives pages without rows back to the file system, where they are many. */
async function giveBack(store: RetentionStore, rest: (tookMs: number) => Promise<void>): Promise<void> {
  const { pages, freePages } = await store.space()
  if (freePages < LEAST_PAGES || freePages < pages * GIVES_BACK) return
  const keep = Math.floor(pages * KEEPS)
  for (;;) {
    const startMs = performance.now()
    if ((await store.shrink(keep)) === 0) return
    await rest(performance.now() - startMs)
  }
}
