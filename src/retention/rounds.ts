import { isAppError, messageOf } from '../errors.js'
import type { Log } from '../log.js'
import type { PassState, RuledTable } from '../storage/retention.js'
import type { LoaderTable } from '../storage/tables.js'
import { createStepSize, type Pace, type PassDeps, type Places, passOver } from './pass.js'

export interface RoundDeps extends PassDeps {
  /** Rejects when the signal fires. */
  pause(ms: number, signal: AbortSignal): Promise<void>
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly pace: Pace
}

/** Passes over all tables with a rule. */
export interface Rounds {
  /** @returns rows that were removed, and whether one of them named a file */
  run(signal: AbortSignal): Promise<{ removed: number; hasFiles: boolean }>
  /** Returns the state of the last pass over a table; undefined before the first one. */
  stateOf(tableId: number): PassState | undefined
  /** Returns the states of the last round, by table. */
  states(): ReadonlyMap<number, PassState>
}

const LEAST_PAUSE_MS = 10

/** Returns the pause after a step, ms. */
export function pauseAfter(tookMs: number, { share }: Pick<Pace, 'share'>): number {
  return Math.max(LEAST_PAUSE_MS, (tookMs / share) * (1 - share))
}

/** Creates the passes, which know how far they are. */
export function createRounds(deps: RoundDeps): Rounds {
  const states = new Map<number, PassState>()
  const places: Places = new Map()
  const size = createStepSize(deps.pace)
  return {
    async run(signal) {
      const retained = await deps.store.rules()
      for (const tableId of states.keys())
        if (!retained.some(({ table }) => table.tableId === tableId)) states.delete(tableId)
      await inTurns(deps, retained, { places, size, states, signal })
      const removedOf = ({ tableId }: LoaderTable) => states.get(tableId)?.removed ?? 0
      return {
        removed: retained.reduce((sum, { table }) => sum + removedOf(table), 0),
        hasFiles: retained.some(
          ({ table }) => table.columns.some(({ file }) => file !== null) && removedOf(table) > 0,
        ),
      }
    },
    stateOf: (tableId) => states.get(tableId),
    states: () => states,
  }
}

interface TurnParts {
  readonly places: Places
  readonly size: ReturnType<typeof createStepSize>
  readonly states: Map<number, PassState>
  readonly signal: AbortSignal
}

/** Does the passes over all tables, a step of each in turn: a large one lets the others have theirs. */
async function inTurns(
  deps: RoundDeps,
  retained: readonly RuledTable[],
  { places, size, states, signal }: TurnParts,
): Promise<void> {
  const passes = new Map(retained.map((one) => [one, passOver(deps, one, { places, size })]))
  while (passes.size > 0)
    for (const [one, pass] of passes) {
      const { table } = one
      try {
        const next = await pass.next()
        if (next.done !== true) {
          await deps.pause(pauseAfter(next.value, deps.pace), signal)
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
  { log }: RoundDeps,
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
