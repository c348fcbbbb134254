import type { RunEnd } from '../../src/dataproc/engine.js'
import type { Trigger, TriggerRun } from '../../src/storage/triggers.js'
import { markNow } from '../../src/triggers/due.js'
import { type SchedulerDeps, startTriggers, type TriggerScheduler } from '../../src/triggers/scheduler.js'
import { type MemoryState, memoryState } from './memory-state.js'

/** Triggers over a state in memory, whose clock and whose runs a test moves. */
export interface TriggerWorld {
  readonly state: MemoryState
  readonly tables: Map<string, { tableId: number; change: number }>
  /** runs that go on, oldest first */
  readonly going: { module: string; end(result?: RunEnd | Error): void }[]
  /** modules of all runs that have begun */
  readonly begun: string[]
  rights: readonly string[] | undefined
  add(name: string, on: Trigger['on'], more?: Partial<Trigger>): Promise<void>
  /** Starts the scheduler, in place of one that was ended. */
  start(): Promise<TriggerScheduler>
  /** Ends the scheduler as the end of its process does: nothing is noted any more. */
  die(): Promise<void>
  /** Lets the scheduler look, and everything happen that waits for no timer. */
  look(): Promise<void>
  runs(name?: string): Promise<TriggerRun[]>
}

/** Opens a world without triggers. */
export async function triggerWorld(t: { teardown(work: () => unknown): unknown }): Promise<TriggerWorld> {
  const state = await memoryState(t)
  const { clock, triggers: store } = state
  let scheduler: TriggerScheduler | undefined
  const world: TriggerWorld = {
    ...{ state, tables: new Map(), going: [], begun: [], rights: ['admin'] },
    async add(name, on, more = {}) {
      const trigger: Trigger = {
        ...{ name, on, overlap: 'queue', retries: 0, retryWaitS: 0, waitS: 0, isEnabled: true },
        ...{ keyId: 'key', keyName: 'k', createdAtUs: clock.nowUs(), mark: await markNow(deps, on) },
        call: JSON.stringify({ module: name, method: 'm', input: {}, output: {}, params: {} }),
        ...more,
      }
      if (!(await store.create(trigger))) throw new Error(`${name} is there`)
    },
    async start() {
      scheduler = await startTriggers(deps)
      return scheduler
    },
    async die() {
      await scheduler?.stop()
      world.going.length = 0
    },
    async look() {
      for (let at = 0; at < 4; at++) {
        scheduler?.kick()
        for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
    },
    runs: async (name) => (await store.runs(name ?? null, 1000)).reverse(),
  }
  const deps: SchedulerDeps = {
    ...{ store, clock, nowUs: () => clock.nowUs(), nowMs: () => clock.nowUs() / 1000 },
    tableState: async (name) => world.tables.get(name),
    modules: {
      exec: ({ module }, { signal }) => {
        world.begun.push(module)
        return new Promise((resolve, reject) => {
          const one = {
            module,
            end(result: RunEnd | Error = { runId: `run ${world.begun.length}`, lastLines: '' }) {
              world.going.splice(world.going.indexOf(one), 1)
              if (result instanceof Error) reject(result)
              else resolve(result)
            },
          }
          world.going.push(one)
          signal.addEventListener('abort', () => one.end(new Error('ended')))
        })
      },
    },
    callerOf: async (keyId) =>
      world.rights && { keyId, keyName: 'k', scopes: world.rights, sessionId: null, endsAtUs: null },
    readCall: (text) => JSON.parse(text),
    sleep: async (_ms, signal) => signal.throwIfAborted(),
    watchWrites: () => () => undefined,
    log: { info: () => undefined, warn: () => undefined },
  }
  t.teardown(() => scheduler?.stop())
  return world
}
