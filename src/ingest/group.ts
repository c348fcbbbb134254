import { messageOf } from '../errors.js'
import type { Log } from '../log.js'
import type { Reject } from '../storage/ingest.js'
import type { LoaderTable } from '../storage/tables.js'
import type { DevicePlaces } from './devices.js'
import type { Arrival, MappedRow, Mapping } from './map-message.js'
import { type MappedTable, mappedTable } from './mapped-tables.js'
import { levelsOf } from './mapping/topics.js'
import type { Received } from './mqtt/client.js'
import type { Timers } from './mqtt/timers.js'
import type { PendingRow, RowSink } from './row-sink.js'

/** Counters of an intake since it was created. */
export interface IntakeCounts {
  messages: number
  /** rows that are on disk, also those whose key existed */
  rows: number
  /** rows whose key existed */
  repeats: number
  rejects: number
}

export interface GroupDeps {
  /** name of the broker */
  readonly broker: string
  readonly mappings: readonly Mapping[]
  readonly sink: RowSink
  readonly devices: DevicePlaces
  findTable(name: string): Promise<LoaderTable | undefined>
  /** Keeps messages that could not be stored; they are on disk when it returns. */
  reject(rejects: readonly Omit<Reject, 'seq'>[]): Promise<void>
  arrival(): Arrival
  /** largest payload that is read, bytes */
  readonly maxMessageBytes: number
  readonly timers: Timers
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
}

/** A group of messages on its way to disk. */
interface Group {
  readonly messages: readonly Received[]
  readonly rows: PendingRow[]
  /** message of each row */
  readonly sources: Received[]
  readonly rejects: Omit<Reject, 'seq'>[]
}

/** Stores groups of messages, one at a time. */
export interface GroupStore {
  /**
   * Stores the rows of messages, and the reasons of those that have none. Faults that pass are waited for.
   *
   * @returns false when it was stopped before
   */
  store(messages: readonly Received[]): Promise<boolean>
  readonly counts: Readonly<IntakeCounts>
  /** why nothing is stored; null while messages are */
  fault(): string | null
  /** Ends the wait for a fault to pass. */
  stop(): void
}

/** Bytes of a payload that are kept of a message that was rejected. */
const SAMPLE_BYTES = 1024
/** Wait before a group is stored again, ms, and its largest value. */
const RETRY_MS = 500
const RETRY_CAP_MS = 30_000

/** Creates the store of the groups of a broker. */
export function createGroupStore(deps: GroupDeps): GroupStore {
  const { timers, log, broker } = deps
  const counts: IntakeCounts = { messages: 0, rows: 0, repeats: 0, rejects: 0 }
  let isStopped = false
  let fault: string | null = null
  let wake: (() => void) | undefined
  const wait = (ms: number) =>
    new Promise<void>((resolve) => {
      const retry = timers.set(resolve, ms)
      wake = () => {
        timers.clear(retry)
        resolve()
      }
    })
  return {
    async store(messages) {
      let group: Group | undefined
      for (let waitMs = RETRY_MS; !isStopped; waitMs = Math.min(RETRY_CAP_MS, waitMs * 2)) {
        try {
          group ??= await readGroup(deps, messages)
          await storeGroup(deps, group, counts)
          if (fault !== null) log.info({ broker }, 'messages are stored again')
          fault = null
          return true
        } catch (error) {
          if (isStopped) break
          if (fault === null) log.error({ err: error, broker }, 'messages cannot be stored; they wait')
          fault = messageOf(error)
          await wait(waitMs)
        }
      }
      return false
    },
    counts,
    fault: () => fault,
    stop() {
      isStopped = true
      wake?.()
    },
  }
}

/** Makes rows of messages. @throws Error when a table cannot be read */
async function readGroup(deps: GroupDeps, messages: readonly Received[]): Promise<Group> {
  const group: Group = { messages, rows: [], sources: [], rejects: [] }
  const tables = new Map<string, MappedTable | undefined>()
  deps.devices.refresh()
  for (const message of messages) {
    const misfits: string[] = []
    for (const outcome of await readMessage(deps, message, tables)) {
      if ('misfit' in outcome) misfits.push(outcome.misfit)
      else {
        group.rows.push(outcome)
        group.sources.push(message)
      }
    }
    if (misfits.length > 0) group.rejects.push(rejectOf(deps, message, misfits.join('; ')))
  }
  return group
}

type Outcome = PendingRow | { readonly misfit: string }

async function readMessage(
  deps: GroupDeps,
  message: Received,
  tables: Map<string, MappedTable | undefined>,
): Promise<Outcome[]> {
  const { topic, payload, payloadBytes, isCut, isRetained } = message
  const { maxMessageBytes } = deps
  if (isCut || payloadBytes > maxMessageBytes)
    return [{ misfit: `payload: found ${payloadBytes} bytes, expected at most ${maxMessageBytes}` }]
  const levels = levelsOf(topic)
  const mappings = deps.mappings.filter((mapping) => mapping.matches(topic, levels))
  if (mappings.length === 0) return [{ misfit: 'topic: found no map whose filter matches it' }]
  const outcomes: Outcome[] = []
  for (const mapping of mappings) {
    const { table: name, ifExists, retained } = mapping.settings
    if (isRetained && !retained) continue
    const found = await tableOf(deps, tables, name)
    if (found === undefined) {
      outcomes.push({ misfit: `no table has the name ${JSON.stringify(name)}` })
      continue
    }
    const rows = mapping.rowsOf(levels, payload, found.facts, deps.arrival())
    if ('misfit' in rows) outcomes.push(rows)
    else for (const row of rows) outcomes.push(await withPlace(deps, row, { table: found.table, ifExists }))
  }
  return outcomes
}

async function tableOf(
  deps: GroupDeps,
  tables: Map<string, MappedTable | undefined>,
  name: string,
): Promise<MappedTable | undefined> {
  if (tables.has(name)) return tables.get(name)
  const table = await deps.findTable(name)
  const found = table === undefined ? undefined : mappedTable(table)
  tables.set(name, found)
  return found
}

async function withPlace(
  { devices }: GroupDeps,
  { properties, place }: MappedRow,
  target: Pick<PendingRow, 'table' | 'ifExists'>,
): Promise<Outcome> {
  const found = 'geometry' in place ? place : await devices.find(place.table, place.keyColumn, place.device)
  if ('misfit' in found) return found
  return { ...target, record: { type: 'Feature', geometry: found.geometry, properties } }
}

/** Stores what is not stored of a group. @throws Error of a fault that passes */
async function storeGroup(deps: GroupDeps, group: Group, counts: IntakeCounts): Promise<void> {
  const { rows, sources } = group
  const isDecided = (row: PendingRow) => row.outcome !== undefined
  if (!rows.every(isDecided)) {
    counts.repeats += await deps.sink.store(rows)
    for (const [at, { outcome }] of rows.entries())
      if (typeof outcome === 'object')
        group.rejects.push(rejectOf(deps, sources[at] as Received, outcome.refused))
      else counts.rows++
  }
  if (group.rejects.length > 0) {
    await deps.reject(group.rejects)
    counts.rejects += group.rejects.length
    group.rejects.length = 0
  }
  counts.messages += group.messages.length
}

function rejectOf(deps: GroupDeps, message: Received, reason: string): Omit<Reject, 'seq'> {
  const { topic, payload, payloadBytes } = message
  const sample = Buffer.from(payload.subarray(0, SAMPLE_BYTES)) // a copy: the rest of the chunk can go
  return { atUs: deps.arrival().nowUs, broker: deps.broker, topic, reason, payload: sample, payloadBytes }
}
