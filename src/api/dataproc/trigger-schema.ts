import { z } from 'zod'
import { formatDatetime } from '../../datetime.js'
import type { Trigger, TriggerOn, TriggerRun } from '../../storage/triggers.js'
import { ExecParams } from './schema.js'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

export const TriggerName = z
  .string()
  .regex(NAME, 'expected 1 to 63 letters, digits or any of . _ -, and a letter or digit first')
  .describe('name of the trigger')

const Seconds = z.number().min(0).max(86_400)

const MODEL_STATES = [10, 20, 30, 40] as const

/** Start of a trigger: exactly one of its members. */
const On = z
  .union([
    z.strictObject({
      schedule: z
        .string()
        .max(200)
        .describe(
          'cron expression: minute, hour, day of month, month, day of week; seconds may come before them',
        ),
      time_zone: z.string().max(100).default('UTC').describe('IANA name, such as Asia/Tokyo'),
      catch_up: z
        .boolean()
        .default(false)
        .describe('runs the last of the starts that were missed; without it they are told alone'),
    }),
    z.strictObject({
      table: z.string().min(1).max(200).describe('loader table: rows were put or overridden'),
    }),
    z.strictObject({
      model_store_ddc: z.string().min(1).max(200).describe('model store: a model was registered'),
      model_states: z
        .array(z.union(MODEL_STATES.map((state) => z.literal(state))))
        .max(MODEL_STATES.length)
        .default([])
        .describe('10 put here, 20 received as feedback, 30 aggregated, 40 fetched; empty for all'),
    }),
    z.strictObject({ startup: z.literal(true).describe('the gateway has started') }),
  ])
  .describe('what starts it')

const Overlap = z
  .enum(['skip', 'queue', 'cancel'])
  .describe('action for a start while the run before goes on: told as skipped, run after it, or in its place')

const Options = {
  overlap: Overlap,
  retries: z.int().min(0).max(10).describe('further tries of a run that failed'),
  retry_wait_s: Seconds.describe('before the first further try; doubled each time'),
  wait_s: Seconds.describe('least time between two starts'),
  enabled: z.boolean(),
}

/** Params of a new trigger. */
export const NewTrigger = ExecParams.extend({
  name: TriggerName,
  on: On,
  overlap: Overlap.default('queue'),
  retries: Options.retries.default(0),
  retry_wait_s: Options.retry_wait_s.default(10),
  wait_s: Options.wait_s.default(1),
  enabled: z.boolean().default(true),
})

/** Params of a change. */
export const ChangedTrigger = z.strictObject({
  name: TriggerName,
  on: On.optional(),
  overlap: Options.overlap.optional(),
  retries: Options.retries.optional(),
  retry_wait_s: Options.retry_wait_s.optional(),
  wait_s: Options.wait_s.optional(),
  enabled: Options.enabled.optional(),
})

export const NamedTrigger = z.strictObject({ name: TriggerName })

const Instant = z.string().describe('ISO 8601')

/** A run as callers see it. */
export const TriggerRunInfo = z.strictObject({
  run: z.int(),
  trigger: z.string(),
  state: z
    .enum(['running', 'done', 'failed', 'cancelled', 'interrupted', 'missed', 'skipped'])
    .describe(
      'interrupted: the gateway ended meanwhile; missed: it did not run then; skipped: the run before went on',
    ),
  due: Instant,
  until: Instant.describe('last of several starts that were missed or skipped'),
  count: z.int().describe('starts that this entry stands for'),
  started: Instant.nullable(),
  ended: Instant.nullable(),
  seconds: z.number().nullable(),
  attempts: z.int(),
  run_id: z.string().nullable().describe('id of the last try, by which its log is found'),
  exit_code: z.int().nullable(),
  error: z.string().nullable().describe('name of the error'),
  message: z.string().nullable(),
  last_lines: z.string().nullable().describe('end of stderr'),
})

/** A trigger as callers see it. */
export const TriggerInfo = z.strictObject({
  name: z.string(),
  on: z.looseObject({}).describe('as it was given, with its defaults'),
  module: z.string(),
  method: z.string(),
  input: z.record(z.string(), z.unknown()),
  output: z.record(z.string(), z.unknown()),
  params: z.record(z.string(), z.unknown()),
  ...Options,
  key: z.string().describe('name of the key that made it, whose rights its runs have'),
  created: Instant,
  next: Instant.nullable().describe('next start of a schedule; null for others, and while it is not enabled'),
  running: z.boolean(),
  last_run: TriggerRunInfo.nullable(),
})

export const ListedTriggers = z.strictObject({
  triggers: z.array(TriggerInfo),
  waits_for_clock: z.boolean().describe('the clock is wrong: no schedule starts until it is set'),
})

export const RunsParams = z.strictObject({
  name: TriggerName.optional().describe('absent for all triggers'),
  limit: z.int().min(1).max(1000).default(100),
})

/** Returns what starts a trigger as it is stored. */
export function readOn(on: z.output<typeof On>): TriggerOn {
  if ('schedule' in on)
    return { kind: 'schedule', schedule: on.schedule, timeZone: on.time_zone, catchesUp: on.catch_up }
  if ('table' in on) return { kind: 'table', table: on.table }
  if ('model_store_ddc' in on) return { kind: 'model', store: on.model_store_ddc, states: on.model_states }
  return { kind: 'startup' }
}

/** Returns what starts a trigger as callers see it. */
export function printOn(on: TriggerOn): z.input<typeof On> {
  if (on.kind === 'schedule') return { schedule: on.schedule, time_zone: on.timeZone, catch_up: on.catchesUp }
  if (on.kind === 'table') return { table: on.table }
  if (on.kind === 'startup') return { startup: true }
  return { model_store_ddc: on.store, model_states: on.states as (typeof MODEL_STATES)[number][] } // `readOn` wrote them
}

/** Returns a run as callers see it. */
export function printRun(run: TriggerRun, timeZoneMin: number): z.input<typeof TriggerRunInfo> {
  const time = (us: number | null) => (us === null ? null : formatDatetime(us, timeZoneMin))
  const { startedAtUs, endedAtUs } = run
  return {
    ...{ run: run.seq, trigger: run.trigger, state: run.state, count: run.count, attempts: run.attempts },
    ...{ due: formatDatetime(run.dueAtUs, timeZoneMin), until: formatDatetime(run.untilUs, timeZoneMin) },
    ...{ started: time(startedAtUs), ended: time(endedAtUs) },
    seconds: startedAtUs === null || endedAtUs === null ? null : Math.max(0, endedAtUs - startedAtUs) / 1e6,
    ...{ run_id: run.runId, exit_code: run.exitCode, error: run.error },
    ...{ message: run.message, last_lines: run.lastLines },
  }
}

/** State of a trigger that is not stored with it. */
export interface TriggerNow {
  readonly nextUs: number | null
  readonly isRunning: boolean
  readonly lastRun: TriggerRun | undefined
}

/** Returns a trigger as callers see it. */
export function printTrigger(
  trigger: Trigger,
  { nextUs, isRunning, lastRun }: TriggerNow,
  timeZoneMin: number,
): z.input<typeof TriggerInfo> {
  const { module, method, input, output, params } = JSON.parse(trigger.call) // `create_trigger` wrote it
  return {
    ...{ name: trigger.name, on: printOn(trigger.on), module, method, input, output, params },
    ...{ overlap: trigger.overlap, retries: trigger.retries, retry_wait_s: trigger.retryWaitS },
    ...{ wait_s: trigger.waitS, enabled: trigger.isEnabled, key: trigger.keyName },
    created: formatDatetime(trigger.createdAtUs, timeZoneMin),
    next: nextUs === null || !trigger.isEnabled ? null : formatDatetime(nextUs, timeZoneMin),
    running: isRunning,
    last_run: lastRun === undefined ? null : printRun(lastRun, timeZoneMin),
  }
}
