/** Start of a trigger. */
export type TriggerOn =
  | {
      readonly kind: 'schedule'
      /** cron expression of five fields, or six with seconds */
      readonly schedule: string
      /** IANA name */
      readonly timeZone: string
      /** runs the last one of those that were missed */
      readonly catchesUp: boolean
    }
  | { readonly kind: 'table'; readonly table: string }
  | {
      readonly kind: 'model'
      readonly store: string
      /** states that count; empty for all */
      readonly states: readonly number[]
    }
  | { readonly kind: 'startup' }

/** Action for a start while the run before goes on. */
export type TriggerOverlap = 'skip' | 'queue' | 'cancel'

/** Position of a trigger: starts up to there have had their run, or were told as missed. */
export type TriggerMark =
  | { readonly atUs: number }
  | { readonly tableId: number; readonly change: number }
  | { readonly seq: number }

/** A trigger: a call of a module, and what starts it. */
export interface Trigger {
  readonly name: string
  readonly on: TriggerOn
  /** JSON text of the call, with its numbers as they were supplied */
  readonly call: string
  readonly overlap: TriggerOverlap
  /** tries after one that failed */
  readonly retries: number
  /** before the first further try, s; doubled each time */
  readonly retryWaitS: number
  /** least time between two starts, s */
  readonly waitS: number
  readonly isEnabled: boolean
  /** key whose rights the runs have */
  readonly keyId: string
  readonly keyName: string
  readonly createdAtUs: number
  /** null before the first look */
  readonly mark: TriggerMark | null
}

/** Members of a trigger that may change. */
export type TriggerChange = Partial<
  Pick<Trigger, 'on' | 'call' | 'overlap' | 'retries' | 'retryWaitS' | 'waitS' | 'isEnabled' | 'mark'>
>

/**
 * State of a run. `interrupted`: the gateway ended meanwhile, and it was started again; `missed`: the gateway did not run when it
 * was due; `skipped`: the run before went on.
 */
export type TriggerRunState =
  | 'running'
  | 'done'
  | 'failed'
  | 'cancelled'
  | 'interrupted'
  | 'missed'
  | 'skipped'

/** Facts of a run that become known while it goes on. */
export interface TriggerRunFacts {
  readonly state: TriggerRunState
  readonly endedAtUs: number | null
  readonly attempts: number
  /** id of the last attempt, by which its log is found */
  readonly runId: string | null
  readonly exitCode: number | null
  /** name of the error */
  readonly error: string | null
  readonly message: string | null
  /** end of stderr */
  readonly lastLines: string | null
}

/** A run of a trigger, or starts that had none. */
export interface TriggerRun extends TriggerRunFacts {
  readonly seq: number
  readonly trigger: string
  /** when it was due, µs UTC */
  readonly dueAtUs: number
  /** last of several that were missed or skipped; `dueAtUs` for one */
  readonly untilUs: number
  /** starts that the row stands for */
  readonly count: number
  readonly startedAtUs: number | null
  /** times that an end of the gateway interrupted it before */
  readonly interruptions: number
}

/** A run that begins. */
export type NewTriggerRun = Pick<TriggerRun, 'trigger' | 'dueAtUs' | 'startedAtUs' | 'interruptions'>

/** Starts that have no run. */
export type TriggerTold = Pick<TriggerRun, 'trigger' | 'dueAtUs' | 'untilUs' | 'count' | 'message'> & {
  readonly state: 'missed' | 'skipped'
}

/** Triggers and their history. A mark is written with the row of the run that it stands for. */
export interface TriggerStore {
  /** @returns false when the name is taken */
  create(trigger: Trigger): Promise<boolean>
  find(name: string): Promise<Trigger | undefined>
  /** Returns all, ordered by name. */
  list(): Promise<Trigger[]>
  /** @returns undefined for an unknown name */
  update(name: string, change: TriggerChange): Promise<Trigger | undefined>
  /** Removes a trigger and its history. @returns it; undefined for an unknown name */
  remove(name: string): Promise<Trigger | undefined>
  /** Begins a run. @param mark null leaves it as it is. @returns its number */
  begin(run: NewTriggerRun, mark: TriggerMark | null): Promise<number>
  note(seq: number, facts: TriggerRunFacts): Promise<void>
  /** Notes starts without a run. */
  tell(told: TriggerTold, mark: TriggerMark | null): Promise<void>
  /** Ends the runs that an end of the gateway interrupted. @returns them */
  endInterrupted(nowUs: number): Promise<TriggerRun[]>
  /** Returns the newest runs first. @param trigger null for all */
  runs(trigger: string | null, limit: number): Promise<TriggerRun[]>
  /**
   * Returns the number of the last model of a store that was registered after another one; 0 for none.
   *
   * @param states empty for all
   */
  lastModel(store: string, states: readonly number[], after: number): Promise<number>
}
