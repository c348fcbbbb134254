import type { ModuleCatalog } from '../../dataproc/catalog.js'
import type { ModuleEngine } from '../../dataproc/engine.js'
import type { Trigger, TriggerMark, TriggerOn, TriggerStore } from '../../storage/triggers.js'
import type { TriggerScheduler } from '../../triggers/scheduler.js'
import type { CallContext } from '../context.js'

/** Triggers as their methods use them. */
export interface TriggerContext extends Pick<TriggerScheduler, 'kick' | 'startNow' | 'isRunning' | 'cancel'> {
  readonly store: TriggerStore
  /** Returns the mark of a trigger that begins now. */
  markNow(on: TriggerOn): Promise<TriggerMark | null>
  /** Returns the next time of a schedule; null for others. */
  nextUs(trigger: Trigger): number | null
  isClockTrusted(): boolean
  nowUs(): number
  readonly timeZoneMin: number
}

/** Part of the call context that the methods of modules use. */
export type DataprocContext = Pick<CallContext, 'caller' | 'signal'> & {
  readonly modules: Pick<ModuleCatalog, 'list'> & ModuleEngine
  readonly triggers: TriggerContext
  /** version of this program */
  readonly version: string
}
