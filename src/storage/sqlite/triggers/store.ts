import type {
  NewTriggerRun,
  Trigger,
  TriggerMark,
  TriggerOn,
  TriggerOverlap,
  TriggerRun,
  TriggerRunFacts,
  TriggerStore,
  TriggerTold,
} from '../../triggers.js'
import { oneValue, statement } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface TriggerRow {
  name: string
  on: string
  call: string
  overlap: TriggerOverlap
  retries: number
  retry_wait_s: number
  wait_s: number
  is_enabled: number
  key_id: string
  key_name: string
  created_at_us: number
  mark: string | null
}

interface RunRow {
  seq: number
  trigger_name: string
  due_at_us: number
  until_us: number
  count: number
  started_at_us: number | null
  interruptions: number
  facts: string
}

/** Runs of a trigger that are kept. */
const KEPT_RUNS = 200

/** A run that has begun. */
const BEGUN: TriggerRunFacts = {
  ...{ state: 'running', endedAtUs: null, attempts: 0, runId: null, exitCode: null },
  ...{ error: null, message: null, lastLines: null },
}

/** Creates the triggers of `state.db`. */
export function createTriggerStore(state: StateDb): TriggerStore {
  return { ...triggersOf(state), ...runsOf(state) }
}

type OfTriggers = 'create' | 'find' | 'list' | 'update' | 'remove' | 'lastModel'

function triggersOf(state: StateDb): Pick<TriggerStore, OfTriggers> {
  const { db } = state
  const find = (name: string) => {
    const row = statement<TriggerRow>(db, 'SELECT * FROM module_trigger WHERE name = ?').get(name)
    return row === undefined ? undefined : toTrigger(row)
  }
  const add = (trigger: Trigger) =>
    statement(db, 'INSERT OR IGNORE INTO module_trigger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
      ...[trigger.name, JSON.stringify(trigger.on), trigger.call, trigger.overlap, trigger.retries],
      ...[trigger.retryWaitS, trigger.waitS, trigger.isEnabled ? 1 : 0, trigger.keyId, trigger.keyName],
      ...[trigger.createdAtUs, markText(trigger.mark)],
    )
  return {
    create: (trigger) => writeState(state, () => add(trigger).changes === 1),
    find: async (name) => find(name),
    list: async () =>
      statement<TriggerRow>(db, 'SELECT * FROM module_trigger ORDER BY name').all().map(toTrigger),
    update: (name, change) =>
      writeState(state, () => {
        const now = find(name)
        if (now === undefined) return undefined // no test: callers have just found it
        const next = { ...now, ...change }
        const sql = `UPDATE module_trigger SET "on" = ?, call = ?, overlap = ?, retries = ?, retry_wait_s = ?, wait_s = ?,
          is_enabled = ?, mark = ? WHERE name = ?`
        statement(db, sql).run(
          ...[JSON.stringify(next.on), next.call, next.overlap, next.retries, next.retryWaitS, next.waitS],
          ...[next.isEnabled ? 1 : 0, markText(next.mark), name],
        )
        return next
      }),
    remove: (name) =>
      writeFreeing(state, () => {
        const old = find(name)
        if (old !== undefined) statement(db, 'DELETE FROM module_trigger WHERE name = ?').run(name)
        return old
      }),
    async lastModel(store, states, after) {
      const wanted = states.length === 0 ? '' : 'AND state IN (SELECT value FROM json_each(?))'
      const sql = `SELECT coalesce(max(seq), 0) FROM model
        WHERE store_id = (SELECT store_id FROM model_store WHERE name = ?) AND seq > ? ${wanted}`
      return oneValue<number>(db, sql, store, after, ...(states.length === 0 ? [] : [JSON.stringify(states)]))
    },
  }
}

function runsOf(state: StateDb): Omit<TriggerStore, OfTriggers> {
  const { db } = state
  const setMark = (name: string, mark: TriggerMark | null) => {
    if (mark === null) return
    statement(db, 'UPDATE module_trigger SET mark = ? WHERE name = ?').run(markText(mark), name)
  }
  const add = (run: NewTriggerRun & { untilUs: number; count: number }, facts: TriggerRunFacts) => {
    const sql = `INSERT INTO module_trigger_run (trigger_name, due_at_us, until_us, count, started_at_us, interruptions, facts)
      SELECT name, ?, ?, ?, ?, ?, ? FROM module_trigger WHERE name = ?`
    const { trigger, dueAtUs, untilUs, count, startedAtUs, interruptions } = run
    const values = [dueAtUs, untilUs, count, startedAtUs, interruptions, JSON.stringify(facts), trigger]
    const { lastInsertRowid } = statement(db, sql).run(...values)
    statement(
      db,
      `DELETE FROM module_trigger_run WHERE trigger_name = ? AND seq <= (SELECT seq FROM module_trigger_run
         WHERE trigger_name = ? ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_RUNS})`,
    ).run(trigger, trigger)
    return Number(lastInsertRowid)
  }
  const setFacts = (seq: number, facts: TriggerRunFacts) =>
    statement(db, 'UPDATE module_trigger_run SET facts = ? WHERE seq = ?').run(JSON.stringify(facts), seq)
  return {
    begin: (run, mark) =>
      writeState(state, () => {
        setMark(run.trigger, mark)
        return add({ ...run, untilUs: run.dueAtUs, count: 1 }, BEGUN)
      }),
    note: (seq, facts) => writeState(state, () => void setFacts(seq, facts)),
    tell: ({ state: what, message, ...told }: TriggerTold, mark) =>
      writeState(state, () => {
        setMark(told.trigger, mark)
        add({ ...told, startedAtUs: null, interruptions: 0 }, { ...BEGUN, state: what, message })
      }),
    endInterrupted: (nowUs) =>
      writeState(state, () => {
        const sql = `SELECT * FROM module_trigger_run WHERE facts ->> '$.state' = 'running' ORDER BY seq`
        const going = statement<RunRow>(db, sql).all().map(toRun)
        for (const { seq, attempts, runId } of going)
          setFacts(seq, { ...BEGUN, state: 'interrupted', endedAtUs: nowUs, attempts, runId })
        return going
      }),
    runs: async (trigger, limit) => {
      const where = trigger === null ? '' : 'WHERE trigger_name = ?'
      const sql = `SELECT * FROM module_trigger_run ${where} ORDER BY seq DESC LIMIT ?`
      return statement<RunRow>(db, sql)
        .all(...(trigger === null ? [] : [trigger]), limit)
        .map(toRun)
    },
  }
}

function markText(mark: TriggerMark | null): string | null {
  return mark === null ? null : JSON.stringify(mark)
}

function toTrigger(row: TriggerRow): Trigger {
  const { name, call, overlap, retries } = row
  return {
    ...{ name, call, overlap, retries, retryWaitS: row.retry_wait_s, waitS: row.wait_s },
    on: JSON.parse(row.on) as TriggerOn, // `create` wrote it
    isEnabled: row.is_enabled === 1,
    keyId: row.key_id,
    keyName: row.key_name,
    createdAtUs: row.created_at_us,
    mark: row.mark === null ? null : (JSON.parse(row.mark) as TriggerMark), // written by this file
  }
}

function toRun(row: RunRow): TriggerRun {
  return {
    seq: row.seq,
    trigger: row.trigger_name,
    dueAtUs: row.due_at_us,
    untilUs: row.until_us,
    count: row.count,
    startedAtUs: row.started_at_us,
    interruptions: row.interruptions,
    ...(JSON.parse(row.facts) as TriggerRunFacts), // written by this file
  }
}
