import type { BrokerSettings } from '../config/ingest.js'
import type { Config } from '../config/schema.js'
import type { Log } from '../log.js'
import type { BrokerStatus, IngestStore, NotedBroker } from '../storage/ingest.js'
import type { TableChanges, TableReader } from '../storage/tables.js'
import type { Loader } from '../tables/loader.js'
import { openBrokerSocket, readCredentials } from './broker.js'
import { createDevicePlaces } from './devices.js'
import { createIntake, type Intake } from './intake.js'
import type { Arrival } from './map-message.js'
import { type ClientState, createMqttClient, type MqttClient } from './mqtt/client.js'
import type { Timers } from './mqtt/timers.js'
import { createPublisher, type Publisher, type PublisherDeps } from './publisher.js'
import { createRowSink } from './row-sink.js'
import { createTableWatch, type TableWatch } from './table-watch.js'

/** Parts of the gateway that messages and tables need. */
export interface LineDeps {
  readonly settings: Config['ingest']
  readonly loader: Pick<Loader, 'add'>
  readonly tables: Pick<TableReader, 'find' | 'dataVersion' | 'pages'>
  readonly changes: Pick<TableChanges, 'last' | 'matching'>
  readonly print: PublisherDeps['print']
  readonly store: IngestStore
  /** UUID of this node */
  readonly nodeId: string
  arrival(): Arrival
  readonly timers: Timers
  random(): number
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
}

/** Time between two looks for tables, and notes of the status, ms. */
const LOOK_MS = 5000
const NOTE_MS = 60_000
const CONNECT_TIMEOUT_MS = 30_000
const RETRY_BASE_MS = 1000

/** State of a broker, and its backlog. */
export interface LineStatus extends BrokerStatus {
  /** time that the oldest message has waited, s */
  readonly lagS: number
  /** filters that the broker has granted */
  readonly subscriptions: number
}

/** One broker. */
export interface Line {
  readonly name: string
  status(): Promise<LineStatus>
  wake(): void
  stop(): Promise<void>
}

/** Starts the client of a broker, and what stores its messages and publishes to it. */
export function startLine(deps: LineDeps, settings: BrokerSettings, noted: NotedBroker | undefined): Line {
  const { timers, store } = deps
  const { name } = settings
  const outbox = () => store.countOutbox(name)
  const watch = createTableWatch(deps, settings)
  const connected = createConnectedNote(deps, name)
  let isStopping = false
  let looking: unknown
  let lastNoteMs = Number.NEGATIVE_INFINITY
  const client = createMqttClient({
    ...clientOptions(deps, settings),
    wanted: () => watch.subscriptions(),
    kept: keptFilters(deps, name, noted?.filters ?? []),
    onMessage: (message) => intake.take(message),
    onState() {
      connected.note(client.state(), isStopping)
      lastNoteMs = Number.NEGATIVE_INFINITY
      publisher.wake()
    },
  })
  const intake = createIntake({
    ...intakeOptions(deps, settings, () => isStopping),
    mappings: watch.mappings,
    client,
  })
  const publisher = createPublisher({ ...publisherOptions(deps, settings), client })
  const status = () => readStatus({ client, intake, publisher, watch, sinceUs: connected.sinceUs, outbox })
  /** Looks for tables that are missing, and notes the status for doctor. */
  const look = async () => {
    const hasChanged = await watch.look()
    if (hasChanged) client.refresh()
    if (!hasChanged && timers.nowMs() - lastNoteMs < NOTE_MS) return
    lastNoteMs = timers.nowMs()
    const { lagS: _lagS, subscriptions: _subscriptions, ...now } = await status()
    await store.noteStatus(name, now, deps.arrival().nowUs)
  }
  const lookSafely = () => look().catch((error: unknown) => warnNotNoted(deps, name, error))
  const lookAgain = async () => {
    await lookSafely()
    publisher.wake()
    if (!isStopping) looking = timers.set(() => (settled = lookAgain()), LOOK_MS)
  }
  let settled = lookAgain()
  void settled.then(() => {
    if (!isStopping) client.start()
  })
  return {
    name,
    status,
    wake: () => publisher.wake(),
    async stop() {
      isStopping = true
      timers.clear(looking)
      await settled
      await intake.stop()
      await Promise.all([publisher.stop(), client.stop()]) // what is not acknowledged fails with the connection
      connected.note(client.state(), isStopping)
      lastNoteMs = Number.NEGATIVE_INFINITY
      await lookSafely()
    },
  }
}

/** Reads how a broker is. */
async function readStatus(parts: {
  readonly client: MqttClient
  readonly intake: Intake
  readonly publisher: Publisher
  readonly watch: TableWatch
  sinceUs(): number
  /** messages in the outbox */
  outbox(): Promise<number>
}): Promise<LineStatus> {
  const { client, intake, publisher, watch } = parts
  const { isConnected, lastError, reconnects, lostSessions } = client.state()
  const storing = intake.fault()
  const faults = [
    ...(storing === null ? [] : [`messages cannot be stored: ${storing}`]),
    ...watch.faults(),
    ...client.refusals().values(),
    ...publisher.faults(),
  ]
  return {
    ...{ isConnected, sinceUs: parts.sinceUs(), lastError, faults, reconnects, lostSessions },
    ...intake.counts,
    warnings: watch.warnings(),
    published: publisher.published(),
    waiting: intake.waiting(),
    unpublished: (await publisher.unpublished()) + (await parts.outbox()),
    lagS: intake.lagS(),
    subscriptions: client.granted(),
  }
}

/** Options of the client that depend on settings alone. */
function clientOptions({ settings, nodeId, timers, random }: LineDeps, broker: BrokerSettings) {
  const { name, version, clientId = clientIdOf(nodeId, name), keepAliveS, maxMessageBytes } = broker
  return {
    ...{ version, clientId, keepAliveS, timers, random },
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    maxPacketBytes: maxMessageBytes,
    retry: { baseMs: RETRY_BASE_MS, capMs: settings.mqtt.retryCapS * 1000 },
    credentials: () => readCredentials(broker),
    openSocket: () => openBrokerSocket(broker),
  }
}

function intakeOptions(deps: LineDeps, { name, maxMessageBytes }: BrokerSettings, isClosing: () => boolean) {
  const { settings, store, tables, arrival, timers, log } = deps
  const { groupRows, groupWaitMs } = settings.mqtt
  return {
    ...{ arrival, maxMessageBytes, groupRows, groupWaitMs, timers, log },
    broker: name,
    sink: createRowSink(deps.loader, `mqtt ${name}`, isClosing),
    devices: createDevicePlaces(tables),
    findTable: (table: string) => tables.find(table),
    reject: (rejects: Parameters<IngestStore['addRejects']>[0]) =>
      store.addRejects(rejects, settings.rejectRows),
  }
}

function publisherOptions(deps: LineDeps, { name, publish }: BrokerSettings) {
  const { store, changes, print, tables, arrival, timers, log } = deps
  return {
    ...{ store, changes, print, timers, log },
    broker: name,
    rules: publish,
    findTable: (table: string) => tables.find(table),
    env: () => ({ timeZoneMin: arrival().timeZoneMin, nowUs: BigInt(arrival().nowUs) }),
  }
}

/** Filters of the session at the broker, in memory and noted for the next start. */
function keptFilters(deps: LineDeps, broker: string, noted: readonly string[]) {
  let filters = noted
  return {
    read: () => filters,
    note(next: readonly string[]) {
      if (JSON.stringify(next) === JSON.stringify(filters)) return
      filters = next
      deps.store.noteFilters(broker, filters).catch((error: unknown) => warnNotNoted(deps, broker, error))
    },
  }
}

/** Logs when a broker is connected, and when it is not any more; keeps since when. */
function createConnectedNote({ arrival, log }: LineDeps, broker: string) {
  let wasConnected: boolean | undefined
  let lastReason: string | null = null
  let sinceUs = arrival().nowUs
  return {
    sinceUs: () => sinceUs,
    note({ isConnected, lastError }: ClientState, isStopping: boolean) {
      const isNews = isConnected !== wasConnected || (!isConnected && lastError !== lastReason)
      if (isConnected !== wasConnected) sinceUs = arrival().nowUs
      wasConnected = isConnected
      lastReason = lastError
      if (!isNews || isStopping) return
      if (isConnected) log.info({ broker }, 'the broker is connected')
      else log.warn({ broker, reason: lastError }, 'the broker is not connected')
    },
  }
}

function warnNotNoted({ log }: LineDeps, broker: string, error: unknown): void {
  log.warn({ err: error, broker }, 'the status of a broker is not noted')
}

/** Name of the session at a broker: the same after each start, and another at each node. */
function clientIdOf(nodeId: string, broker: string): string {
  return `fieldgate-${nodeId.replaceAll('-', '').slice(0, 20)}-${broker}`.slice(0, 65)
}
