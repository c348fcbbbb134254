import type { Trigger, TriggerMark, TriggerOn, TriggerStore, TriggerTold } from '../storage/triggers.js'
import type { TrustedClock } from '../storage/work/clock.js'
import { dueBetween, readSchedule, type Schedule } from './schedule.js'

/** Dependencies of finding what is due. */
export interface DueDeps {
  readonly store: Pick<TriggerStore, 'lastModel'>
  readonly clock: Pick<TrustedClock, 'nowUs' | 'isTrusted'>
  /** Returns where a table is: its id and its last change; undefined for an unknown one. */
  tableState(name: string): Promise<{ tableId: number; change: number } | undefined>
}

/** A start that is due. */
export interface DueStart {
  readonly atUs: number
  readonly mark: TriggerMark | null
}

/** Due starts of a trigger. */
export interface Due {
  /** starts without a run, and the mark after them */
  readonly told: { readonly row: Omit<TriggerTold, 'trigger'>; readonly mark: TriggerMark } | undefined
  readonly start: DueStart | undefined
}

/** Latest start after its time, µs: a busy gateway is this late at most. */
const LATE_US = 60_000_000

/** Returns the mark of a trigger that begins now. */
export async function markNow(deps: DueDeps, on: TriggerOn): Promise<TriggerMark | null> {
  switch (on.kind) {
    case 'schedule':
      return { atUs: deps.clock.nowUs() }
    case 'table':
      return (await deps.tableState(on.table)) ?? null
    case 'model':
      return { seq: await deps.store.lastModel(on.store, on.states, 0) }
    default:
      return null
  }
}

/**
 * Returns what is due of a trigger; undefined for nothing.
 *
 * @param hasWaited the run before went on when it was due
 */
export async function dueOf(
  deps: DueDeps,
  { on, mark }: Pick<Trigger, 'on' | 'mark'>,
  hasWaited: boolean,
): Promise<Due | undefined> {
  const nowUs = deps.clock.nowUs()
  switch (on.kind) {
    case 'schedule':
      return deps.clock.isTrusted() ? dueBySchedule(on, mark, nowUs, hasWaited) : undefined
    case 'table': {
      const now = await deps.tableState(on.table)
      if (now === undefined) return undefined
      const before = mark !== null && 'tableId' in mark && mark.tableId === now.tableId ? mark.change : 0
      return now.change > before ? startOnly({ atUs: nowUs, mark: now }) : undefined
    }
    case 'model': {
      const before = mark !== null && 'seq' in mark ? mark.seq : 0
      const seq = await deps.store.lastModel(on.store, on.states, before)
      return seq > before ? startOnly({ atUs: nowUs, mark: { seq } }) : undefined
    }
    default:
      return undefined
  }
}

function startOnly(start: DueStart): Due {
  return { told: undefined, start }
}

/** A schedule runs the last of its times that have come; of the others it is told that they were missed or skipped. */
function dueBySchedule(
  on: Extract<TriggerOn, { kind: 'schedule' }>,
  mark: TriggerMark | null,
  nowUs: number,
  hasWaited: boolean,
): Due | undefined {
  if (mark === null || !('atUs' in mark)) return undefined // a schedule has had a mark since it was made
  const due = dueBetween(scheduleOf(on), mark.atUs, nowUs)
  if (due === undefined) return undefined
  const { firstUs, beforeLastUs, lastUs, count } = due
  const isMissed = !hasWaited && !on.catchesUp && nowUs - lastUs > LATE_US
  const state = hasWaited ? ('skipped' as const) : ('missed' as const)
  const message = hasWaited ? 'the run before went on' : 'the gateway did not run, or its clock was set'
  const left = isMissed ? count : count - 1
  const untilUs = isMissed ? lastUs : beforeLastUs
  return {
    told:
      left === 0
        ? undefined
        : { row: { state, message, dueAtUs: firstUs, untilUs, count: left }, mark: { atUs: untilUs } },
    start: isMissed ? undefined : { atUs: lastUs, mark: { atUs: lastUs } },
  }
}

/** Returns the next time of a schedule; null for other triggers. */
export function nextDueUs({ on, mark }: Pick<Trigger, 'on' | 'mark'>): number | null {
  if (on.kind !== 'schedule' || mark === null || !('atUs' in mark)) return null
  return scheduleOf(on).next(mark.atUs) ?? null
}

/** Schedules that were read: a program has few. */
const schedules = new Map<string, Schedule>()
const MAX_SCHEDULES = 1000

function scheduleOf({ schedule, timeZone }: { schedule: string; timeZone: string }): Schedule {
  const name = `${timeZone} ${schedule}`
  const known = schedules.get(name)
  if (known !== undefined) return known
  const read = readSchedule(schedule, timeZone)
  if ('fault' in read) throw new Error(`the schedule ${schedule} in ${timeZone}: ${read.fault}`)
  if (schedules.size >= MAX_SCHEDULES) schedules.clear()
  schedules.set(name, read)
  return read
}
