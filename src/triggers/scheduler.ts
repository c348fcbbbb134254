import { messageOf } from '../errors.js'
import type { Log } from '../log.js'
import type { Trigger, TriggerMark, TriggerStore } from '../storage/triggers.js'
import { type AttemptsDeps, runAttempts } from './attempts.js'
import { type Due, type DueDeps, type DueStart, dueOf, nextDueUs } from './due.js'

/** Dependencies of the triggers. */
export interface SchedulerDeps extends AttemptsDeps, DueDeps {
  readonly store: TriggerStore
  /** Calls a listener after each write of rows. Returns a function that ends it. */
  watchWrites(listener: () => void): () => void
  /** monotonic clock */
  nowMs(): number
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Starts modules by time and event. */
export interface TriggerScheduler {
  /** Looks at the triggers now: one was changed. */
  kick(): void
  /** Starts a trigger now. @returns number of its run; undefined while one goes on */
  startNow(trigger: Trigger): Promise<number | undefined>
  isRunning(name: string): boolean
  /** Ends the run of a trigger, if one goes on, and waits for its end. */
  cancel(name: string): Promise<void>
  /** Ends all runs, which begin again at the next start. */
  stop(): Promise<void>
}

/** A trigger as it is in memory. */
interface Live {
  going: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined
  /** a start was due while the run before went on */
  hasWaited: boolean
  lastStartMs: number
}

/** Longest time between two looks, ms: clocks are set, and devices sleep. */
const MAX_WAIT_MS = 15_000
/** Time between two looks for models and for rows of other threads, ms. */
const LOOK_MS = 1000
/** Time after a write in which others are awaited, ms. */
const WRITES_MS = 100
/** Runs of one start that an end of the gateway may interrupt: one that ends the gateway itself is given up. */
const MAX_INTERRUPTIONS = 3

/** Starts the triggers: those of the start of the gateway, runs that were interrupted, and all others when they are due. */
export async function startTriggers(deps: SchedulerDeps): Promise<TriggerScheduler> {
  const live = new Map<string, Live>()
  const stopping = new AbortController()
  const bell = createBell()
  const run = createRunner(deps, live, { isStopping: () => stopping.signal.aborted, onEnd: bell.ring })
  await beginAgain(deps, run)
  let hasTables = false
  let written: NodeJS.Timeout | undefined
  const unwatch = deps.watchWrites(() => {
    if (hasTables) written ??= setTimeout(bell.ring, WRITES_MS).unref()
  })
  const loop = async () => {
    while (!stopping.signal.aborted) {
      let waitMs = LOOK_MS
      clearTimeout(written)
      written = undefined
      try {
        const all = await deps.store.list()
        hasTables = all.some(({ on, isEnabled }) => isEnabled && on.kind === 'table')
        waitMs = await lookAt(deps, live, run, all)
      } catch (error) {
        deps.log.warn({ reason: messageOf(error) }, 'triggers could not be looked at')
      }
      await bell.wait(waitMs)
    }
  }
  const looping = loop()
  return {
    kick: bell.ring,
    startNow: (trigger) =>
      liveOf(live, trigger.name).going === undefined
        ? run(trigger, { atUs: deps.clock.nowUs(), mark: null }, 0)
        : Promise.resolve(undefined),
    isRunning: (name) => live.get(name)?.going !== undefined,
    async cancel(name) {
      const going = live.get(name)?.going
      going?.abort.abort()
      await going?.ended
    },
    async stop() {
      stopping.abort()
      unwatch()
      clearTimeout(written)
      bell.ring()
      for (const { going } of live.values()) going?.abort.abort()
      await looping
      await Promise.all([...live.values()].map(({ going }) => going?.ended))
    },
  }
}

/** A wait that can be ended. */
function createBell() {
  let ring: () => void = () => undefined
  let isRung = false
  return {
    ring: () => {
      isRung = true
      ring()
    },
    async wait(ms: number) {
      if (!isRung)
        await new Promise<void>((resolve) => {
          const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(resolve, ms).unref()
          ring = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      isRung = false
    },
  }
}

function liveOf(live: Map<string, Live>, name: string): Live {
  let found = live.get(name)
  if (found === undefined) {
    found = { going: undefined, hasWaited: false, lastStartMs: Number.NEGATIVE_INFINITY }
    live.set(name, found)
  }
  return found
}

type Run = (trigger: Trigger, start: DueStart, interruptions: number) => Promise<number>

/** Begins what an end of the gateway interrupted, and the triggers of its start. */
async function beginAgain(deps: SchedulerDeps, run: Run): Promise<void> {
  const interrupted = await deps.store.endInterrupted(deps.clock.nowUs())
  for (const trigger of await deps.store.list()) {
    if (!trigger.isEnabled) continue
    const before = interrupted.findLast((one) => one.trigger === trigger.name)
    const interruptions = (before?.interruptions ?? 0) + 1
    if (trigger.on.kind === 'startup') await run(trigger, { atUs: deps.clock.nowUs(), mark: null }, 0)
    else if (before !== undefined && interruptions <= MAX_INTERRUPTIONS)
      await run(trigger, { atUs: before.dueAtUs, mark: null }, interruptions)
  }
}

/** Starts what is due. @returns time until the next look, ms */
async function lookAt(
  deps: SchedulerDeps,
  live: Map<string, Live>,
  run: Run,
  all: readonly Trigger[],
): Promise<number> {
  let waitMs = Number.POSITIVE_INFINITY
  for (const trigger of all) {
    if (!trigger.isEnabled) continue
    const one = liveOf(live, trigger.name)
    const restMs = one.lastStartMs + trigger.waitS * 1000 - deps.nowMs()
    const due = restMs > 0 ? undefined : await dueOf(deps, trigger, one.hasWaited)
    const mark = due === undefined ? trigger.mark : await startDue(deps, trigger, one, { due, run })
    waitMs = Math.min(waitMs, nextLookMs(deps, { ...trigger, mark }, restMs))
  }
  return waitMs
}

/** Starts a trigger that is due, or tells why not. @returns its mark after that */
async function startDue(
  { store }: SchedulerDeps,
  trigger: Trigger,
  one: Live,
  { due, run }: { due: Due; run: Run },
): Promise<TriggerMark | null> {
  const { told, start } = due
  if (one.going !== undefined) {
    if (trigger.overlap === 'queue') {
      one.hasWaited = true
      return trigger.mark
    }
    if (trigger.overlap === 'skip') return await skip(store, trigger.name, due)
    one.going.abort.abort()
    await one.going.ended
  }
  one.hasWaited = false
  if (told !== undefined) await store.tell({ ...told.row, trigger: trigger.name }, told.mark)
  if (start === undefined) return told?.mark ?? trigger.mark
  await run(trigger, start, 0)
  return start.mark
}

/** Notes all starts that are due as skipped. */
async function skip(store: TriggerStore, name: string, { told, start }: Due): Promise<TriggerMark | null> {
  const message = 'the run before went on'
  const dueAtUs = told?.row.dueAtUs ?? start?.atUs ?? 0
  const untilUs = start?.atUs ?? told?.row.untilUs ?? dueAtUs
  const count = (told?.row.count ?? 0) + (start === undefined ? 0 : 1)
  const mark = start?.mark ?? told?.mark ?? null
  await store.tell({ trigger: name, state: 'skipped', message, dueAtUs, untilUs, count }, mark)
  return mark
}

function nextLookMs({ clock }: SchedulerDeps, trigger: Trigger, restMs: number): number {
  if (trigger.on.kind === 'startup') return Number.POSITIVE_INFINITY
  if (trigger.on.kind !== 'schedule') return Math.max(LOOK_MS, Math.min(restMs, MAX_WAIT_MS))
  const atUs = nextDueUs(trigger)
  if (atUs === null) return Number.POSITIVE_INFINITY
  return Math.min(MAX_WAIT_MS, Math.max(1, (atUs - clock.nowUs()) / 1000, restMs))
}

/** Creates what begins runs. Each goes on by itself, and its end is noted. */
function createRunner(
  deps: SchedulerDeps,
  live: Map<string, Live>,
  { isStopping, onEnd }: { isStopping(): boolean; onEnd(): void },
): Run {
  const { store, clock } = deps
  return async (trigger, { atUs, mark }, interruptions) => {
    const one = liveOf(live, trigger.name)
    const abort = new AbortController()
    const row = { trigger: trigger.name, dueAtUs: atUs, startedAtUs: clock.nowUs(), interruptions }
    const seq = await store.begin(row, mark)
    one.lastStartMs = deps.nowMs()
    const work = async () => {
      try {
        const facts = await runAttempts(deps, trigger, abort.signal, (now) => store.note(seq, now))
        await store.note(seq, facts)
        if (facts.state === 'failed')
          deps.log.warn(
            { trigger: trigger.name, error: facts.error, reason: facts.message },
            'a trigger failed',
          )
      } catch (error) {
        if (isStopping()) return // the next start begins it again
        if (!abort.signal.aborted) throw error
        await store.note(seq, { ...CANCELLED, endedAtUs: clock.nowUs() })
      }
    }
    const ended = work()
      .catch((error) =>
        deps.log.warn({ trigger: trigger.name, reason: messageOf(error) }, 'the end of a run was not noted'),
      )
      .then(() => {
        one.going = undefined
        onEnd()
      })
    one.going = { abort, ended }
    return seq
  }
}

const CANCELLED = {
  ...{ state: 'cancelled' as const, attempts: 1, runId: null, exitCode: null, error: 'CANCELLED' },
  ...{ message: 'another start, an operator, or the end of the trigger ended it', lastLines: null },
}
