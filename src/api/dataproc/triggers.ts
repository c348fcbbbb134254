import { z } from 'zod'
import { requireScope } from '../../auth/caller.js'
import { AppError, invalidParams } from '../../errors.js'
import { isRawNumber } from '../../json/exact-json.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { Trigger, TriggerOn } from '../../storage/triggers.js'
import { runCallerOf } from '../../triggers/attempts.js'
import { findRound } from '../../triggers/loops.js'
import { readSchedule } from '../../triggers/schedule.js'
import type { DataprocContext } from './context.js'
import {
  ChangedTrigger,
  ListedTriggers,
  NamedTrigger,
  NewTrigger,
  printRun,
  printTrigger,
  RunsParams,
  readOn,
  TriggerInfo,
  TriggerRunInfo,
} from './trigger-schema.js'

type Context = Pick<DataprocContext, 'caller' | 'signal' | 'modules' | 'triggers'>

const MAX_TRIGGERS = 200

export const createTrigger = defineMethod({
  name: 'dataproc.create_trigger',
  summary:
    'Makes a trigger: a call of a module that is started by time or event, with the rights of the key that makes it',
  scope: 'dataproc:write',
  errors: [
    ...(['TRIGGER_EXISTS', 'UNKNOWN_MODULE', 'UNKNOWN_SCRIPT', 'BAD_MODULE', 'UNKNOWN_DATASET'] as const),
    ...(['UNKNOWN_STORE', 'BAD_CONDITION', 'DISK_FULL', 'BUSY'] as const),
  ],
  params: NewTrigger,
  result: TriggerInfo,
  async handle(given, { caller, signal, modules, triggers }: Context, exact) {
    const { name, on: wanted, overlap, retries, retry_wait_s, wait_s, enabled, ...call } = given
    const params = (await exact()).params ?? {} // numbers as supplied, as `dataproc.exec` passes them on
    if (isRawNumber(params))
      throw invalidParams([{ path: '$.params', message: `found ${params.rawJSON}, expected an object` }])
    const on = readOn(wanted)
    requireOn(on)
    requireReadable(caller, on)
    await modules.check({ ...call, params }, runCallerOf(caller, signal))
    const all = await triggers.store.list()
    if (all.length >= MAX_TRIGGERS) {
      const message = `found ${all.length} triggers, expected at most ${MAX_TRIGGERS}: delete one`
      throw new AppError('BUSY', {}, { message })
    }
    requireNoRound(all, { name, on, call })
    const trigger: Trigger = {
      ...{ name, on, call: JSON.stringify({ ...call, params }), overlap, retries, isEnabled: enabled },
      ...{ retryWaitS: retry_wait_s, waitS: wait_s, keyId: caller.keyId, keyName: caller.keyName },
      ...{ createdAtUs: triggers.nowUs(), mark: await triggers.markNow(on) },
    }
    if (!(await triggers.store.create(trigger))) {
      const message = `A trigger has the name ${name}, expected another name`
      throw new AppError('TRIGGER_EXISTS', { trigger: name }, { message })
    }
    triggers.kick()
    return await infoOf(triggers, trigger)
  },
})

export const updateTrigger = defineMethod({
  name: 'dataproc.update_trigger',
  summary:
    'Changes a trigger; absent members keep their values. One that is enabled again begins with what comes then',
  scope: 'dataproc:write',
  errors: ['UNKNOWN_TRIGGER', 'DISK_FULL'],
  params: ChangedTrigger,
  result: TriggerInfo,
  async handle(given, { caller, triggers }: Context) {
    const { name, on: wanted, overlap, retries, retry_wait_s, wait_s, enabled } = given
    const before = await find(triggers, name)
    const on = wanted === undefined ? undefined : readOn(wanted)
    if (on !== undefined) {
      requireOn(on)
      requireReadable(caller, on)
      const others = (await triggers.store.list()).filter((one) => one.name !== name)
      requireNoRound(others, { name, on, call: JSON.parse(before.call) })
    }
    const begins = on !== undefined || (enabled === true && !before.isEnabled)
    const trigger = await triggers.store.update(name, {
      ...(on === undefined ? {} : { on }),
      ...(overlap === undefined ? {} : { overlap }),
      ...(retries === undefined ? {} : { retries }),
      ...(retry_wait_s === undefined ? {} : { retryWaitS: retry_wait_s }),
      ...(wait_s === undefined ? {} : { waitS: wait_s }),
      ...(enabled === undefined ? {} : { isEnabled: enabled }),
      ...(begins ? { mark: await triggers.markNow(on ?? before.on) } : {}),
    })
    if (trigger === undefined) throw unknownTrigger(name)
    if (enabled === false) await triggers.cancel(name)
    triggers.kick()
    return await infoOf(triggers, trigger)
  },
})

export const deleteTrigger = defineMethod({
  name: 'dataproc.delete_trigger',
  summary: 'Removes a trigger with its history; a run that goes on is ended',
  scope: 'dataproc:write',
  errors: ['UNKNOWN_TRIGGER'],
  params: NamedTrigger,
  result: TriggerInfo,
  async handle({ name }, { triggers }: Context) {
    const info = await infoOf(triggers, await find(triggers, name))
    if ((await triggers.store.remove(name)) === undefined) throw unknownTrigger(name)
    await triggers.cancel(name)
    return { ...info, running: false }
  },
})

export const runTrigger = defineMethod({
  name: 'dataproc.run_trigger',
  summary: 'Starts a trigger now; its run goes on after the answer',
  scope: 'dataproc:write',
  errors: ['UNKNOWN_TRIGGER', 'BUSY', 'DISK_FULL'],
  params: NamedTrigger,
  result: z.strictObject({ run: z.int().describe('number of the run in dataproc.list_trigger_runs') }),
  async handle({ name }, { triggers }: Context) {
    const run = await triggers.startNow(await find(triggers, name))
    if (run === undefined) {
      const message = `A run of the trigger ${name} goes on, expected none`
      throw new AppError('BUSY', { retryAfterS: 5 }, { message })
    }
    return { run }
  },
})

export const listTriggers = defineMethod({
  name: 'dataproc.list_triggers',
  summary: 'Triggers by name, with their next start and last run',
  scope: 'dataproc:read',
  params: z.strictObject({}),
  result: ListedTriggers,
  async handle(_params, { triggers }: Context) {
    const all = await triggers.store.list()
    return {
      triggers: await Promise.all(all.map((trigger) => infoOf(triggers, trigger))),
      waits_for_clock: !triggers.isClockTrusted(),
    }
  },
})

export const listTriggerRuns = defineMethod({
  name: 'dataproc.list_trigger_runs',
  summary: 'History of triggers, the newest run first: of each trigger its last 200',
  scope: 'dataproc:read',
  errors: ['UNKNOWN_TRIGGER'],
  params: RunsParams,
  result: z.array(TriggerRunInfo),
  async handle({ name, limit }, { triggers }: Context) {
    if (name !== undefined) await find(triggers, name)
    const runs = await triggers.store.runs(name ?? null, limit)
    return runs.map((run) => printRun(run, triggers.timeZoneMin))
  },
})

async function find(triggers: Context['triggers'], name: string): Promise<Trigger> {
  const trigger = await triggers.store.find(name)
  if (trigger === undefined) throw unknownTrigger(name)
  return trigger
}

function unknownTrigger(name: string): AppError {
  const message = `No trigger has the name ${name}, expected one of dataproc.list_triggers`
  return new AppError('UNKNOWN_TRIGGER', { trigger: name }, { message })
}

async function infoOf(triggers: Context['triggers'], trigger: Trigger) {
  const [lastRun] = await triggers.store.runs(trigger.name, 1)
  const now = { nextUs: triggers.nextUs(trigger), isRunning: triggers.isRunning(trigger.name), lastRun }
  return printTrigger(trigger, now, triggers.timeZoneMin)
}

/** @throws AppError INVALID_PARAMS for a schedule or a time zone that cannot be read */
function requireOn(on: TriggerOn): void {
  if (on.kind !== 'schedule') return
  const read = readSchedule(on.schedule, on.timeZone)
  if (!('fault' in read)) return
  const found = JSON.stringify(on.schedule.slice(0, 100))
  const message = `found ${found} in ${JSON.stringify(on.timeZone)}, expected a cron expression and a time zone (${read.fault})`
  throw invalidParams([{ path: '$.on.schedule', message }])
}

/** A trigger tells when a table or a store changes: that is reading it. */
function requireReadable(caller: Context['caller'], on: TriggerOn): void {
  if (on.kind === 'table') requireScope(caller, 'loader:read')
  if (on.kind === 'model') requireScope(caller, 'model:read')
}

/** @throws AppError INVALID_PARAMS for triggers that would start each other without end */
function requireNoRound(all: readonly Trigger[], added: Parameters<typeof findRound>[1]): void {
  const others = all.map(({ name, on, call }) => ({ name, on, call: JSON.parse(call) }))
  const round = findRound(others, added)
  if (round === undefined) return
  const message = `found triggers that start each other without end (${round.join(' → ')}), expected outputs that start none of them`
  throw invalidParams([{ path: '$.output', message }])
}
