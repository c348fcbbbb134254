import type { PublishSettings } from '../config/ingest.js'
import { messageOf } from '../errors.js'
import type { Log } from '../log.js'
import type { ValueEnv } from '../storage/columns/column-type.js'
import type { IngestStore, PublishCursor } from '../storage/ingest.js'
import type { ChangedRow, LoaderTable, TableChanges, TableRow } from '../storage/tables.js'
import type { MqttClient } from './mqtt/client.js'
import type { Outgoing } from './mqtt/encode.js'
import type { Timers } from './mqtt/timers.js'
import { topicOf } from './topic-template.js'

export interface PublisherDeps {
  /** name of the broker */
  readonly broker: string
  readonly rules: readonly PublishSettings[]
  readonly client: Pick<MqttClient, 'publish' | 'state'>
  readonly store: Pick<IngestStore, 'cursor' | 'noteCursor' | 'outboxOf' | 'removeFromOutbox'>
  readonly changes: Pick<TableChanges, 'last' | 'matching'>
  findTable(name: string): Promise<LoaderTable | undefined>
  /** Returns rows as JSON; columns are empty for all. */
  print(table: LoaderTable, rows: readonly ChangedRow[], columns: readonly string[]): Promise<TableRow[]>
  env(): ValueEnv
  readonly timers: Timers
  readonly log: Pick<Log, 'warn' | 'info'>
}

/** Publishes changes of tables and messages of the outbox, each at least once. */
export interface Publisher {
  start(): void
  /** Something may wait to be published: a table has changed, the broker is connected, a module has ended. */
  wake(): void
  /** messages that the broker has taken */
  published(): number
  /** changes that are not published; of rules with a condition, changes that were not looked at */
  unpublished(): Promise<number>
  /** what keeps rules from publishing */
  faults(): readonly string[]
  /** Notes how far each rule is. */
  stop(): Promise<void>
}

/** Rows that are read and sent together. */
const ROWS = 100
/** Time between two notes of a cursor, ms: what was sent since is sent again after a crash. */
const NOTE_MS = 5000
/** Wait after a failure, ms. */
const RETRY_MS = 2000

/** A rule that publishes a table, and how far it is. */
interface Lane {
  readonly rule: PublishSettings & { readonly table: string }
  readonly name: string
  cursor: PublishCursor | undefined
  /** as it is in the database */
  noted: PublishCursor | undefined
  notedAtMs: number
  fault: string | undefined
}

/** Creates a publisher that is not started. */
export function createPublisher(deps: PublisherDeps): Publisher {
  const { client, timers, broker } = deps
  const lanes = deps.rules.flatMap((rule) =>
    rule.table === undefined ? [] : [laneOf(broker, rule, rule.table)],
  )
  let published = 0
  let isStopped = false
  let isRunning = false
  let isWoken = false
  let timer: unknown
  let settled: Promise<void> = Promise.resolve()

  const send = async (messages: readonly Outgoing[]) => {
    await Promise.all(messages.map((message) => client.publish(message)))
    published += messages.length
  }
  const round = async () => {
    await sendOutbox(deps, send)
    for (const lane of lanes) await sendLane(deps, lane, send, () => isStopped)
  }
  const run = async () => {
    isRunning = true
    timers.clear(timer)
    while (isWoken && !isStopped) {
      isWoken = false
      if (!client.state().isConnected) break // the next connection wakes it
      try {
        await round()
      } catch (error) {
        if (isStopped || !client.state().isConnected) break
        deps.log.warn({ err: error, broker }, 'changes cannot be published; they wait')
        timers.clear(timer)
        timer = timers.set(wake, RETRY_MS)
        break
      }
    }
    isRunning = false
  }
  const wake = () => {
    isWoken = true
    if (!isRunning && !isStopped) settled = run()
  }
  return {
    start: wake,
    wake,
    published: () => published,
    async unpublished() {
      let sum = 0
      for (const { rule, cursor } of lanes) {
        const table = await deps.findTable(rule.table)
        if (table !== undefined && cursor?.tableId === table.tableId)
          sum += Math.max(0, (await deps.changes.last(table)) - cursor.change)
      }
      return sum
    },
    faults: () => lanes.flatMap(({ fault }) => fault ?? []),
    async stop() {
      isStopped = true
      timers.clear(timer)
      await settled
      for (const lane of lanes) await noteCursor(deps, lane)
    },
  }
}

function laneOf(broker: string, rule: PublishSettings, table: string): Lane {
  const name = `${broker} ${table} ${rule.topic}`
  return {
    rule: { ...rule, table },
    name,
    cursor: undefined,
    noted: undefined,
    notedAtMs: 0,
    fault: undefined,
  }
}

/** Sends messages of the outbox, and removes those that the broker has taken. */
async function sendOutbox(
  { store, broker }: PublisherDeps,
  send: (messages: readonly Outgoing[]) => Promise<void>,
): Promise<void> {
  for (;;) {
    const messages = await store.outboxOf(broker, ROWS)
    if (messages.length === 0) return
    await send(messages)
    await store.removeFromOutbox(messages.map(({ seq }) => seq))
  }
}

/** Sends the changes of a table up to the last one. */
async function sendLane(
  deps: PublisherDeps,
  lane: Lane,
  send: (messages: readonly Outgoing[]) => Promise<void>,
  isStopped: () => boolean,
): Promise<void> {
  const { rule } = lane
  const table = await deps.findTable(rule.table)
  lane.fault = table === undefined ? `the table ${rule.table} does not exist` : undefined
  if (table === undefined) return
  let cursor = await openCursor(deps, lane, table)
  while (!isStopped()) {
    const filter = { conds: rule.conds, env: deps.env() }
    const { rows, until } = await deps.changes.matching(table, cursor.change, ROWS, filter)
    if (until === cursor.change) break
    const printed = await deps.print(table, rows, [])
    await send(printed.map((row) => messageOfRow(rule, row)))
    cursor = { tableId: table.tableId, change: until }
    lane.cursor = cursor
    if (deps.timers.nowMs() - lane.notedAtMs >= NOTE_MS) await noteCursor(deps, lane)
  }
}

/** Returns where a rule goes on: at the end of a table that is new to it, or was restored from a backup. */
async function openCursor(deps: PublisherDeps, lane: Lane, table: LoaderTable): Promise<PublishCursor> {
  if (lane.cursor === undefined) {
    lane.cursor = await deps.store.cursor(lane.name)
    lane.noted = lane.cursor
  }
  const last = await deps.changes.last(table)
  const kept = lane.cursor
  if (kept !== undefined && kept.tableId === table.tableId && kept.change <= last) return kept
  // rows of a table that was dropped and registered again are new to everybody
  const change = kept === undefined || kept.tableId === table.tableId ? last : 0
  const cursor = { tableId: table.tableId, change }
  lane.cursor = cursor
  await noteCursor(deps, lane)
  return cursor
}

async function noteCursor(deps: PublisherDeps, lane: Lane): Promise<void> {
  const { cursor, noted, name } = lane
  if (cursor === undefined || (noted?.change === cursor.change && noted.tableId === cursor.tableId)) return
  lane.notedAtMs = deps.timers.nowMs()
  lane.noted = cursor
  try {
    await deps.store.noteCursor(name, cursor)
  } catch (error) {
    lane.noted = undefined
    deps.log.warn(
      { err: error, rule: name, reason: messageOf(error) },
      'the place of a publication is not noted',
    )
  }
}

/** Makes the message of a row: a GeoJSON Feature. */
function messageOfRow(rule: PublishSettings, { geometry, properties }: TableRow): Outgoing {
  const shown =
    rule.columns.length === 0
      ? properties
      : Object.fromEntries(Object.entries(properties).filter(([name]) => rule.columns.includes(name)))
  const payload = Buffer.from(JSON.stringify({ type: 'Feature', geometry, properties: shown }))
  return { topic: topicOf(rule.topic, properties), payload, qos: rule.qos, isRetained: rule.retain }
}
