import { AppError } from '../errors.js'
import type { LoaderTable } from '../storage/tables.js'
import {
  type ChangeFilter,
  type Channel,
  type ChannelDeps,
  createChannel,
  endReader,
  type LiveReader,
  type Sink,
} from './channel.js'

/** A request for the changes of a table. */
export interface ChangesRequest extends ChangeFilter {
  readonly dataName: string
  /** change after which they are wanted; undefined for those from now on */
  readonly after: number | undefined
  /** key that asks */
  readonly keyId: string
}

/** Changes of tables, as they happen. */
export interface LiveChanges {
  /**
   * Checks a request.
   *
   * @returns function that begins to write to a sink, and returns the end of the reader
   * @throws AppError UNKNOWN_TABLE, INVALID_PARAMS, BAD_CONDITION, TOO_EXPENSIVE; RATE_LIMITED when too many read
   */
  open(request: ChangesRequest): Promise<(sink: Sink) => LiveStream>
  /** Returns how many read. */
  count(): number
}

/** A reader that was opened. */
export interface LiveStream {
  /** last change that it has */
  cursor(): number
  /** Ends it and tells where it may go on. */
  end(reason: string): void
  /** The other side is gone. */
  close(): void
}

interface LiveDeps extends ChannelDeps {
  /** Calls a listener after each write of rows. Returns a function that ends it. */
  watchWrites(listener: () => void): () => void
  readonly limits: { readonly readers: number; readonly readersPerKey: number }
}

/** Time in which changes are gathered, ms: one text for all of them. */
const GATHER_MS = 50
/** Time between two looks for rows that another program has written, ms. */
const LOOK_MS = 2000
const RETRY_S = 30

/** Creates the changes of the tables of a gateway. Costs nothing while nobody reads. */
export function createLiveChanges(deps: LiveDeps): LiveChanges {
  const channels = new Map<string, Channel>()
  const byKey = new Map<string, number>()
  let total = 0
  let unwatch: (() => void) | undefined
  let gathering: NodeJS.Timeout | undefined
  let looking: NodeJS.Timeout | undefined

  const pumpAll = () => {
    clearTimeout(gathering)
    gathering = undefined
    for (const channel of channels.values()) channel.pump()
  }
  const begin = () => {
    unwatch = deps.watchWrites(() => {
      gathering ??= setTimeout(pumpAll, GATHER_MS).unref()
    })
    looking = setInterval(pumpAll, LOOK_MS).unref()
  }
  const rest = () => {
    unwatch?.()
    unwatch = undefined
    clearTimeout(gathering)
    gathering = undefined
    clearInterval(looking)
  }
  const count = (keyId: string, by: 1 | -1) => {
    const before = total
    total += by
    const ofKey = (byKey.get(keyId) ?? 0) + by
    if (ofKey === 0) byKey.delete(keyId)
    else byKey.set(keyId, ofKey)
    if (before === 0) begin()
    if (total === 0) rest()
  }
  const join = (table: LoaderTable, request: ChangesRequest, last: number, sink: Sink): LiveStream => {
    const { columns, conds, keyId } = request
    const name = JSON.stringify([table.tableId, columns, conds ?? null])
    let channel = channels.get(name)
    if (channel === undefined) {
      channel = createChannel(deps, table, { columns, conds }, last)
      channels.set(name, channel)
    }
    const joined = channel
    const reader: LiveReader = { sink, cursor: request.after ?? last, isBehind: false, isEnded: false }
    let isClosed = false
    count(keyId, 1)
    joined.add(reader)
    joined.pump() // what was written since the request was checked
    return {
      cursor: () => reader.cursor,
      end: (reason) => endReader(reader, reason),
      close() {
        if (isClosed) return
        isClosed = true
        reader.isEnded = true
        joined.remove(reader)
        if (joined.readers.size === 0 && channels.get(name) === joined) channels.delete(name)
        count(keyId, -1)
      },
    }
  }
  return {
    async open(request) {
      const { table, last } = await check(deps, request)
      return (sink) => {
        requireRoom(deps, total, byKey.get(request.keyId) ?? 0)
        return join(table, request, last, sink)
      }
    },
    count: () => total,
  }
}

/** @throws AppError as `LiveChanges.open` */
async function check(deps: LiveDeps, request: ChangesRequest): Promise<{ table: LoaderTable; last: number }> {
  const { dataName, columns, conds, after } = request
  const table = await deps.findTable(dataName)
  if (table === undefined) {
    const message = `No table has the name ${JSON.stringify(dataName.slice(0, 100))}, expected one of loaderwebapi.get_loader_list`
    throw new AppError('UNKNOWN_TABLE', { data_name: dataName.slice(0, 100) }, { message })
  }
  const unknown = columns.find((name) => !table.columnByName.has(name))
  if (unknown !== undefined) {
    const message = `columns: found ${JSON.stringify(unknown.slice(0, 100))}, expected a column of ${table.dataName}`
    throw new AppError('BAD_HTTP', { parameter: 'columns' }, { message })
  }
  const last = await deps.changes.last(table)
  if (after !== undefined && after > last) {
    const message = `after: found ${after}, expected at most ${last}, the last change of the table: it was dropped or restored since; read it anew`
    throw new AppError('BAD_HTTP', { parameter: 'after', last }, { message })
  }
  await deps.changes.matching(table, last, 1, { conds: conds ?? null, env: deps.env() }) // checks the condition
  return { table, last }
}

/** @throws AppError RATE_LIMITED */
function requireRoom({ limits }: LiveDeps, total: number, ofKey: number): void {
  const [found, most, setting] =
    ofKey >= limits.readersPerKey
      ? [ofKey, limits.readersPerKey, 'limits.changeReadersPerKey']
      : [total, limits.readers, 'limits.changeReaders']
  if (found < most) return
  const message = `Found ${found} open streams of changes, expected fewer than ${most} (${setting}): close one`
  throw new AppError('RATE_LIMITED', { retryAfterS: RETRY_S }, { message })
}
