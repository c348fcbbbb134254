import type { BusSettings } from '../../config/modbus.js'
import type { Config } from '../../config/schema.js'
import { messageOf } from '../../errors.js'
import type { Log } from '../../log.js'
import type { BusStatus, IngestStore } from '../../storage/ingest.js'
import type { TableReader } from '../../storage/tables.js'
import type { Loader } from '../../tables/loader.js'
import { createDevicePlaces, type DevicePlaces } from '../devices.js'
import type { Timers } from '../mqtt/timers.js'
import { createRowSink } from '../row-sink.js'
import { type BusConnection, type ConnectionDeps, createConnection } from './connection.js'
import { createDevice, type Device, type Reading } from './device.js'
import { createRowQueue, type RowQueue } from './row-queue.js'

/** Parts of the gateway that buses need. */
export interface BusDeps extends ConnectionDeps {
  readonly settings: Config['ingest']
  readonly loader: Pick<Loader, 'add'>
  readonly tables: Pick<TableReader, 'find' | 'dataVersion' | 'pages'>
  readonly store: IngestStore
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
}

/** A bus whose devices are read. */
export interface Bus {
  readonly name: string
  status(): BusStatus
  /** Ends the reading that runs, stores what was read, and ends the connection. */
  stop(): Promise<void>
}

/** A device, when it is due, and how it is. */
interface Turn {
  readonly device: Device
  /** wall clock, ms */
  dueMs: number
  /** why the last reading failed; null after one that did not */
  failure: string | null
  /** what keeps readings from being rows; undefined when nothing does */
  misfit: string | undefined
  /** true while it is read later than the next reading is due */
  isLate: boolean
}

interface BusParts {
  readonly deps: BusDeps
  readonly settings: BusSettings
  readonly connection: BusConnection
  readonly queue: RowQueue
  readonly places: DevicePlaces
  readonly counts: { readings: number; failures: number }
  /** Waits; `stop` ends it. */
  pause(ms: number): Promise<void>
  isStopping(): boolean
}

/** Longest sleep, ms: the wall clock may be set meanwhile. */
const LONGEST_SLEEP_MS = 60_000
/** Time between two notes of an unchanged status, ms. */
const NOTE_MS = 60_000

/** Starts to read the devices of a bus. */
export function startBus(deps: BusDeps, settings: BusSettings): Bus {
  const { timers, log } = deps
  const { name } = settings
  const sleeper = createSleeper(timers)
  const parts: BusParts = {
    ...{ deps, settings },
    connection: createConnection(settings, deps),
    queue: createQueue(deps, settings),
    places: createDevicePlaces(deps.tables),
    counts: { readings: 0, failures: 0 },
    pause: sleeper.sleep,
    isStopping: sleeper.isEnded,
  }
  const turns = settings.devices.map((device): Turn => {
    const created = createDevice(device)
    return {
      device: created,
      dueMs: nextDueMs(created, wallMs(deps)),
      ...{ failure: null, misfit: undefined, isLate: false },
    }
  })
  const status = () => readStatus(parts, turns)
  const note = createNote(deps, name, status)
  const run = async () => {
    await note()
    while (!parts.isStopping()) {
      const turn = nextTurn(turns, wallMs(deps))
      const waitMs = turn === undefined ? LONGEST_SLEEP_MS : turn.dueMs - wallMs(deps)
      if (waitMs > 0) await parts.pause(Math.min(waitMs, LONGEST_SLEEP_MS))
      if (turn === undefined || parts.isStopping() || turn.dueMs > wallMs(deps)) continue
      await takeTurn(parts, turn)
      await note()
    }
  }
  const running = run().catch((error: unknown) =>
    log.error({ err: error, bus: name }, 'a bus is read no more'),
  )
  return {
    name,
    status,
    async stop() {
      sleeper.end()
      parts.connection.close('the gateway stops')
      await running
      parts.connection.close('the gateway stops') // one that was being opened
      await parts.queue.stop()
      await note(true)
    },
  }
}

function createQueue(deps: BusDeps, { name }: BusSettings): RowQueue {
  const { settings, store, timers, log, arrival } = deps
  return createRowQueue({
    ...{ bus: name, maxRows: settings.modbus.waitingRows, timers, log },
    sink: createRowSink(deps.loader, `modbus ${name}`),
    reject: (rejects) => store.addRejects(rejects, settings.rejectRows),
    nowUs: () => arrival().nowUs,
  })
}

/** Reads a device in its turn, and queues the row. */
async function takeTurn(parts: BusParts, turn: Turn): Promise<void> {
  const { deps, counts } = parts
  const { device } = turn
  const everyMs = device.settings.everyS * 1000
  turn.isLate = wallMs(deps) - turn.dueMs > everyMs
  const table = await deps.tables.find(device.settings.table)
  turn.misfit = device.faultOf(table)
  if (turn.misfit === undefined && table !== undefined) {
    const atUs = deps.arrival().nowUs
    const reading = await readDevice(parts, turn)
    if (reading !== undefined) {
      counts.readings++
      await queueRow(parts, device, { reading, atUs, table })
    } else counts.failures++
  }
  turn.dueMs = nextDueMs(device, wallMs(deps))
}

/** @returns undefined when the device could not be read, of which `turn.failure` tells */
async function readDevice(parts: BusParts, turn: Turn): Promise<Reading | undefined> {
  const { settings, connection, deps } = parts
  const { device } = turn
  const before = turn.failure
  for (let attempt = 0; attempt <= settings.retries && !parts.isStopping(); attempt++) {
    try {
      const link = await connection.open()
      if (settings.pauseMs > 0) await parts.pause(settings.pauseMs)
      const reading = await device.read(link, () => parts.pause(settings.pauseMs))
      turn.failure = null
      if (before !== null) deps.log.info(namesOf(parts, device), 'the device answers again')
      return reading
    } catch (error) {
      turn.failure = messageOf(error)
      // an answer that comes late would be taken for that to the next request
      if (!isException(error)) connection.close(turn.failure)
    }
  }
  if (before === null && !parts.isStopping())
    deps.log.warn({ ...namesOf(parts, device), reason: turn.failure }, 'the device cannot be read')
  return undefined
}

async function queueRow(
  { queue, places }: BusParts,
  device: Device,
  { reading, atUs, table }: { reading: Reading; atUs: number; table: Parameters<Device['rowOf']>[2] },
): Promise<void> {
  if (!device.isNews(reading, atUs)) return
  const row = await device.rowOf(reading, atUs, table, places)
  if ('misfit' in row) return queue.refuse(device.settings.name, row.misfit, reading)
  device.note(reading, atUs)
  queue.add(row, device.settings.name)
}

function namesOf({ settings }: BusParts, device: Device) {
  return { bus: settings.name, device: device.settings.name }
}

/** An exception is an answer of the device: the connection is in order. */
function isException(error: unknown): boolean {
  return error instanceof Error && 'modbusCode' in error
}

function readStatus({ connection, queue, counts, settings }: BusParts, turns: readonly Turn[]): BusStatus {
  const storing = queue.fault()
  const { rows, repeats, rejects, lost } = queue.counts
  return {
    ...connection.state(),
    faults: [
      ...(storing === null ? [] : [`readings cannot be stored: ${storing}`]),
      ...turns.flatMap(({ misfit, failure, device }) => {
        if (misfit !== undefined) return [misfit]
        return failure === null ? [] : [`the device ${device.settings.name} cannot be read: ${failure}`]
      }),
    ],
    warnings: [
      ...turns
        .filter(({ isLate }) => isLate)
        .map(
          ({ device: { settings: late } }) =>
            `the bus ${settings.name} cannot read the device ${late.name} every ${late.everyS} s: readings are left out`,
        ),
      ...(lost === 0 ? [] : [`${lost} rows were lost while none could be stored`]),
    ],
    ...counts,
    ...{ rows, repeats, rejects, lost, waiting: queue.waiting() },
  }
}

/** Notes the status for doctor and the command line: when it changes, and each minute. */
function createNote({ store, timers, arrival, log }: BusDeps, name: string, status: () => BusStatus) {
  let noted: string | undefined
  let notedMs = Number.NEGATIVE_INFINITY
  return async (isLast = false) => {
    const now = status()
    const { isConnected, lastError, faults, warnings } = now
    const essence = JSON.stringify({ isConnected, lastError, faults, warnings })
    if (!isLast && essence === noted && timers.nowMs() - notedMs < NOTE_MS) return
    noted = essence
    notedMs = timers.nowMs()
    try {
      await store.noteBus(name, now, arrival().nowUs)
    } catch (error) {
      log.warn({ err: error, bus: name }, 'the status of a bus is not noted')
    }
  }
}

/** Returns the device that is due first; undefined for a bus without devices. */
function nextTurn(turns: readonly Turn[], nowMs: number): Turn | undefined {
  let first: Turn | undefined
  for (const turn of turns) {
    // the wall clock was set back
    if (turn.dueMs - nowMs > turn.device.settings.everyS * 1000) turn.dueMs = nextDueMs(turn.device, nowMs)
    if (first === undefined || turn.dueMs < first.dueMs) first = turn
  }
  return first
}

/** Readings begin at the multiples of their time: those of a table fit together, and a restart moves none. */
function nextDueMs({ settings }: Device, nowMs: number): number {
  const everyMs = settings.everyS * 1000
  return (Math.floor(nowMs / everyMs) + 1) * everyMs
}

function wallMs({ arrival }: BusDeps): number {
  return arrival().nowUs / 1000
}

/** Sleeps that end early when the bus ends. */
function createSleeper(timers: Timers) {
  let isEnded = false
  let wake: (() => void) | undefined
  return {
    sleep: (ms: number) =>
      new Promise<void>((resolve) => {
        if (isEnded || ms <= 0) return resolve()
        const handle = timers.set(resolve, ms)
        wake = () => {
          timers.clear(handle)
          resolve()
        }
      }),
    end() {
      isEnded = true
      wake?.()
    },
    isEnded: () => isEnded,
  }
}
