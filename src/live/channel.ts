import { messageOf } from '../errors.js'
import type { Log } from '../log.js'
import type { ValueEnv } from '../storage/columns/column-type.js'
import type { LoaderTable, TableChanges, TableRow } from '../storage/tables.js'

/** Changes that are wanted of a table. */
export interface ChangeFilter {
  /** columns to print; empty for all */
  readonly columns: readonly string[]
  /** condition; undefined for none */
  readonly conds: unknown
}

/** Dependencies of a channel. */
export interface ChannelDeps {
  readonly changes: Pick<TableChanges, 'matching' | 'last'>
  findTable(name: string): Promise<LoaderTable | undefined>
  /** Returns rows in their JSON form; `rowId` is the number of the change. */
  print(
    table: LoaderTable,
    rows: Awaited<ReturnType<TableChanges['matching']>>['rows'],
    columns: readonly string[],
  ): Promise<TableRow[]>
  env(): ValueEnv
  readonly log: Pick<Log, 'warn'>
}

/** Where a reader's bytes go. */
export interface Sink {
  write(bytes: Uint8Array): void
  /** bytes that the other side has not taken yet */
  unsentBytes(): number
  /** Calls a listener once, when all bytes are on their way. */
  onDrain(listener: () => void): void
  end(bytes: Uint8Array): void
}

/** A reader of changes. */
export interface LiveReader {
  readonly sink: Sink
  /** last change that it has, or that is not for it */
  cursor: number
  /** it reads the table by itself until it has what the others have */
  isBehind: boolean
  isEnded: boolean
}

/** Readers of the same changes. */
export interface Channel {
  readonly readers: ReadonlySet<LiveReader>
  add(reader: LiveReader): void
  remove(reader: LiveReader): void
  /** Gives new changes to the readers. One at a time; a call meanwhile is done after it. */
  pump(): void
}

/** Rows that are read at a time: about 1 ms. */
const PAGE_ROWS = 250
/** Unsent bytes from which on a reader is passed over; it reads the table itself once it has taken them. */
const MAX_UNSENT_BYTES = 256 * 1024
/** Unsent bytes up to which a reader that is behind is given more. */
const LOW_UNSENT_BYTES = 64 * 1024

/** A channel as it is. */
interface State {
  readonly deps: ChannelDeps
  readonly table: Pick<LoaderTable, 'tableId' | 'dataName'>
  readonly filter: ChangeFilter
  readonly readers: Set<LiveReader>
  /** last change that was given to the readers that keep up */
  cursor: number
  isPumping: boolean
  isAsked: boolean
}

/**
 * Creates a channel. One text is made for all readers that keep up; slow ones cost nothing until they have read
 * what they got, and are then served from the table.
 *
 * @param table as it was when the channel was made: one that is registered again is another one
 * @param cursor change after which it begins
 */
export function createChannel(
  deps: ChannelDeps,
  table: Pick<LoaderTable, 'tableId' | 'dataName'>,
  filter: ChangeFilter,
  cursor: number,
): Channel {
  const readers = new Set<LiveReader>()
  const state: State = { deps, table, filter, readers, cursor, isPumping: false, isAsked: false }
  return {
    readers,
    add(reader) {
      readers.add(reader)
      if (reader.cursor !== state.cursor) catchUp(state, reader)
    },
    remove: (reader) => void readers.delete(reader),
    pump: () => pump(state),
  }
}

/** Changes as events. */
interface Page {
  readonly bytes: Uint8Array
  /** change up to which none is missing */
  readonly until: number
  /** no change follows for now */
  readonly isEnd: boolean
}

/** Reads the next changes. @returns undefined when the table is gone */
async function readPage({ deps, table: of, filter }: State, after: number): Promise<Page | undefined> {
  const table = await deps.findTable(of.dataName)
  if (table?.tableId !== of.tableId) return undefined
  const conds = filter.conds ?? null
  const { rows, until } = await deps.changes.matching(table, after, PAGE_ROWS, { conds, env: deps.env() })
  const texts = (await deps.print(table, rows, filter.columns)).map(eventText)
  const isShort = conds === null && rows.length < PAGE_ROWS
  return {
    bytes: Buffer.from(texts.join('')),
    until: Math.max(until, after),
    isEnd: until <= after || isShort,
  }
}

function pump(state: State): void {
  state.isAsked = true
  if (state.isPumping) return
  state.isPumping = true
  pumpAll(state).catch((error: unknown) => fail(state, error))
}

async function pumpAll(state: State): Promise<void> {
  try {
    for (let isEnd = true; state.isAsked || !isEnd; ) {
      state.isAsked = false
      const after = state.cursor
      const page = await readPage(state, after)
      if (page === undefined) return endAll(state, DROPPED)
      state.cursor = page.until
      give(state, after, page)
      isEnd = page.isEnd
      await turnOfLoop()
    }
  } finally {
    state.isPumping = false // at once: a call of `pump` after the last look is not lost
  }
}

/** Gives a page to the readers that keep up; the others are served by themselves. */
function give(state: State, after: number, { bytes, until }: Page): void {
  for (const reader of state.readers) {
    if (reader.isBehind || reader.isEnded) continue
    if (reader.cursor !== after || reader.sink.unsentBytes() > MAX_UNSENT_BYTES) {
      catchUp(state, reader)
      continue
    }
    if (bytes.byteLength > 0) reader.sink.write(bytes)
    reader.cursor = until
  }
}

/** Serves a reader from the table until it has what the others have. */
function catchUp(state: State, reader: LiveReader): void {
  reader.isBehind = true
  serve(state, reader).catch((error: unknown) => fail(state, error))
}

async function serve(state: State, reader: LiveReader): Promise<void> {
  const { sink } = reader
  while (!reader.isEnded) {
    if (sink.unsentBytes() > LOW_UNSENT_BYTES) return sink.onDrain(() => catchUp(state, reader))
    if (reader.cursor >= state.cursor) break
    const page = await readPage(state, reader.cursor)
    if (page === undefined) return endReader(reader, DROPPED)
    if (page.bytes.byteLength > 0) sink.write(page.bytes)
    reader.cursor = page.until
    await turnOfLoop()
  }
  reader.isBehind = false
  if (reader.cursor > state.cursor) pump(state) // the others get what it has read ahead
}

const DROPPED = 'the table was dropped'

function endAll({ readers }: State, reason: string): void {
  for (const reader of readers) endReader(reader, reason)
}

function fail(state: State, error: unknown): void {
  const { deps, table } = state
  deps.log.warn({ table: table.dataName, reason: messageOf(error) }, 'changes of a table could not be read')
  endAll(state, 'the changes could not be read; go on from here')
}

/** Ends a reader, and tells where it may go on. */
export function endReader(reader: LiveReader, reason: string): void {
  if (reader.isEnded) return
  reader.isEnded = true
  reader.sink.end(Buffer.from(`event: end\ndata: ${JSON.stringify({ after: reader.cursor, reason })}\n\n`))
}

/** Returns a row as an event; JSON has no line ends outside of its escapes. */
function eventText({ rowId, geometry, properties }: TableRow): string {
  return `id: ${rowId}\nevent: change\ndata: ${JSON.stringify({ type: 'Feature', geometry, properties })}\n\n`
}

function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
