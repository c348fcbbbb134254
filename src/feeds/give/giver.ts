import type { Caller } from '../../auth/caller.js'
import { AppError } from '../../errors.js'
import type { Log } from '../../log.js'
import type { DayRows } from '../../storage/exchange/day-rows.js'
import type {
  AskedFeed,
  AskedFeeds,
  FeedIdentity,
  FeedSenders,
  FeedStart,
} from '../../storage/exchange/feeds.js'
import type { LoaderTable, TableChanges } from '../../storage/tables.js'
import { definitionDigest, sentDefinition, type TableAnswer } from '../batch/definition.js'
import { encodeBatch } from '../batch/encode.js'
import { MAX_BATCH_BYTES, SENT_ROWS } from '../batch/format.js'
import { requireNode, requireReadable } from '../receive/rights.js'
import { collectBatch, headerOf, keyText, slotsOf } from '../send/collect.js'
import { requireColumnsOf, requireSendable } from '../send/sendable.js'
import type { CollectDeps, CollectState, Session } from '../send/sender-deps.js'
import { type AgainRequest, giveAgain } from './again.js'
import { type GivenSums, type GivenSumsDeps, givenSums, type SumsQuestion } from './sums.js'
import type { Waiting } from './waiting.js'

/** Question of another node for a table, before it asks for batches. */
export interface TableQuestion extends Omit<AskedFeed, 'feedId' | 'start'> {
  readonly feed: string
  /** an instant in µs UTC */
  readonly from: 'now' | 'all' | number
  /** as it was answered before; null at the first time */
  readonly start: FeedStart | null
}

/** Request for the batch after a change. */
export interface BatchRequest {
  readonly tableUuid: string
  readonly feedId: string
  readonly epoch: number
  readonly after: number
  readonly waitMs: number
  /** rows of some days once more, in place of those after `after` */
  readonly again?: AgainRequest | undefined
}

/** A batch as it is answered. */
export interface GivenBatch {
  readonly body: Uint8Array
  /** last change of the table: the asker has more to read when the batch ends before it */
  readonly last: number
  /** a row that no batch can hold; the asker sets it aside */
  readonly tooLarge?: { readonly change: number; readonly key: string; readonly reason: string }
  /** of rows that go once more: id up to which they were looked at */
  readonly again?: { readonly until: number; readonly isEnd: boolean }
}

/** Gives tables to other nodes that ask for them. */
export interface FeedGiver {
  /**
   * Notes what a node asks for.
   *
   * @throws AppError FORBIDDEN, LOOP, UNKNOWN_TABLE, TABLE_NOT_SENDABLE, BAD_CONDITION, INVALID_PARAMS
   */
  ask(caller: Caller, question: TableQuestion): Promise<Omit<TableAnswer, 'sums'>>
  /**
   * Returns the sums of what a feed gives that was asked for.
   *
   * @throws AppError UNKNOWN_FEED, FORBIDDEN, BUSY
   */
  sums(
    caller: Caller,
    question: SumsQuestion & { readonly feedId: string },
    signal: AbortSignal,
  ): Promise<GivenSums>
  /**
   * Returns the batch after a change, or waits for a row. Rows whose origin is the asker are not in it.
   *
   * @param hold waits until the rows of the batch may take so many bytes
   * @returns undefined when there was no row until the end of the wait
   * @throws AppError UNKNOWN_FEED when the feed must be asked for again, FORBIDDEN, BUSY
   */
  next(
    caller: Caller,
    request: BatchRequest,
    signal: AbortSignal,
    hold: (bytes: number) => Promise<void>,
  ): Promise<GivenBatch | undefined>
}

interface GiverDeps extends CollectDeps, GivenSumsDeps {
  readonly asked: AskedFeeds
  readonly senders: FeedSenders
  readonly identity: Pick<FeedIdentity, 'tableUuid' | 'epoch'>
  readonly waiting: Waiting
  readonly changes: TableChanges & DayRows
  findTable(name: string): Promise<LoaderTable | undefined>
  nowMs(): number
  readonly log: Pick<Log, 'warn'>
}

const TOO_LARGE = `found a row of more than ${MAX_BATCH_BYTES} bytes, the most that a batch holds`

/** Creates the giver of a gateway. */
export function createFeedGiver(deps: GiverDeps): FeedGiver {
  const { asked, senders, identity, changes } = deps
  const noteTold = createToldNotes(deps)
  return {
    async ask(caller, { feed: feedId, node, dataName: name, columns, conds, from, start: known }) {
      await requireNode(deps, caller, node)
      const table = await deps.findTable(name)
      await requireReadable(asked, caller, table?.dataName ?? name)
      if (table === undefined) throw unknownTable(name)
      requireColumnsOf(table, columns)
      requireSendable(table, columns)
      const last = await changes.last(table)
      await changes.matching(table, last, 1, { conds, env: deps.env() }) // checks the condition
      const tableUuid = (await identity.tableUuid(table)) ?? ''
      const start = known ?? startOf(from, tableUuid, last)
      await senders.bind(caller.keyId, node)
      await asked.keep(caller.keyId, { feedId, node, dataName: table.dataName, columns, conds, start })
      const definition = sentDefinition(table, columns)
      return { node: deps.nodeId, table: tableUuid, epoch: await identity.epoch(), definition, start, last }
    },
    async sums(caller, { feedId, ...question }, signal) {
      const feed = await asked.find(caller.keyId, feedId)
      if (feed === undefined) throw unknownFeed(feedId)
      await requireReadable(asked, caller, feed.dataName)
      const table = await deps.findTable(feed.dataName)
      const tableUuid = table === undefined ? undefined : await identity.tableUuid(table)
      if (table === undefined || tableUuid === undefined) throw unknownFeed(feedId)
      return await givenSums(deps, feed, { table, tableUuid }, question, signal)
    },
    async next(caller, request, signal, hold) {
      const feed = await asked.find(caller.keyId, request.feedId)
      if (feed === undefined) throw unknownFeed(request.feedId)
      await requireReadable(asked, caller, feed.dataName)
      await noteTold(feed, request)
      const endMs = deps.nowMs() + request.waitMs
      let scanned = request.after
      for (;;) {
        const { table, session, last } = await openTable(deps, feed, request)
        if (request.again !== undefined) {
          const given = await again(deps, { feed, table, session, hold }, request.again)
          return { ...given, last }
        }
        session.scanned = scanned
        const given = last > scanned ? await collect(deps, { feed, table, session, hold }) : undefined
        if (given !== undefined) return { ...given, last }
        scanned = session.scanned
        const seen = { keyId: caller.keyId, feedId: feed.feedId, table, seen: scanned, signal }
        const isOver =
          scanned < last || (await deps.waiting.wait({ ...seen, ms: endMs - deps.nowMs() })) === 'ended'
        if (!isOver) continue
        // the asker need not look at the same changes again
        const hasMoved = scanned > request.after
        return hasMoved ? { body: await emptyBatch(deps, feed, table, session), last } : undefined
      }
    },
  }
}

/** Longest time for which a cursor that moves is not noted, ms: each note is a write. */
const TOLD_MS = 60_000

/** Notes now and then where an asker is, for bundles, which go on from there. */
function createToldNotes({ asked, nowMs }: Pick<GiverDeps, 'asked' | 'nowMs'>) {
  const noted = new Map<string, { after: number; atMs: number }>()
  return async (
    { node, feedId }: AskedFeed,
    { tableUuid: table, epoch, after }: BatchRequest,
  ): Promise<void> => {
    const key = `${node} ${feedId}`
    const last = noted.get(key)
    if (last !== undefined && (last.after === after || nowMs() - last.atMs < TOLD_MS)) return
    noted.delete(key)
    noted.set(key, { after, atMs: nowMs() })
    const [oldest] = noted.keys()
    if (noted.size > MAX_NOTED && oldest !== undefined) noted.delete(oldest)
    await asked.noteTold(node, feedId, { table, epoch, cursor: after })
  }
}

/** Askers whose notes are known without a look. */
const MAX_NOTED = 10_000

/** Finds the table as the asker knows it. @throws AppError UNKNOWN_FEED */
async function openTable(
  deps: GiverDeps,
  feed: AskedFeed,
  { tableUuid, epoch, after }: BatchRequest,
): Promise<{ table: LoaderTable; session: Session; last: number }> {
  const table = await deps.findTable(feed.dataName)
  if (table === undefined) throw unknownFeed(feed.feedId)
  const [uuid, nowEpoch] = [await deps.identity.tableUuid(table), await deps.identity.epoch()]
  const last = await deps.changes.last(table)
  // an asker that is ahead has met the data of this gateway in a later state: it begins again
  if (uuid !== tableUuid || nowEpoch !== epoch || after > last) throw unknownFeed(feed.feedId)
  const digest = definitionDigest(sentDefinition(table, feed.columns))
  const { tableId } = table
  const session = { peer: feed.node, tableUuid, tableId, epoch, digest, cursor: after, scanned: after }
  return { table, session, last }
}

interface Collecting {
  readonly feed: AskedFeed
  readonly table: LoaderTable
  readonly session: Session
  hold(bytes: number): Promise<void>
}

/** Reads the rows of a batch; `session.scanned` is as far as was looked when there are none. */
async function collect(
  deps: GiverDeps,
  { feed, table, session, hold }: Collecting,
): Promise<Omit<GivenBatch, 'last'> | undefined> {
  const state: CollectState = {
    ...{ record: feed, aside: new Set(), maxRows: SENT_ROWS, isPatient: false, hold },
  }
  const batch = await collectBatch(deps, state, session, table)
  if (batch === undefined) return undefined
  if (!('tooLarge' in batch)) return { body: batch.body }
  const reason = TOO_LARGE
  const { change } = batch.tooLarge
  const key = keyText(table, batch.tooLarge)
  deps.log.warn({ feed: feed.feedId, table: table.dataName, key, reason }, 'a row is too large for a feed')
  const body = await emptyBatch(deps, feed, table, { ...session, scanned: change })
  return { body, tooLarge: { change, key, reason } }
}

/** Reads rows that go once more. */
async function again(
  deps: GiverDeps,
  { feed, table, session, hold }: Collecting,
  request: AgainRequest,
): Promise<Omit<GivenBatch, 'last'>> {
  const { body, tooLargeKey, until, isEnd } = await giveAgain(deps, feed, { table, session, hold }, request)
  const given = { body: body ?? (await emptyBatch(deps, feed, table, session)), again: { until, isEnd } }
  if (tooLargeKey === undefined) return given
  return { ...given, tooLarge: { change: 0, key: tooLargeKey, reason: TOO_LARGE } }
}

/** Makes a batch without a row, which moves the cursor over changes that the feed leaves out. */
export async function emptyBatch(
  deps: CollectDeps,
  feed: AskedFeed,
  table: LoaderTable,
  session: Session,
): Promise<Uint8Array> {
  const slots = slotsOf(table, feed.columns)
  const state = { record: feed, aside: new Set<number>(), maxRows: 0 }
  const header = headerOf(deps, state, session, session.scanned)
  const body = await encodeBatch(header, slots, [])
  if (body === undefined) throw new Error('a batch without rows is too large') // no test: it has only names
  return body
}

function startOf(from: TableQuestion['from'], tableUuid: string, last: number): FeedStart {
  return {
    tableUuid,
    afterChange: from === 'now' ? last : 0,
    untilChange: last,
    fromUs: typeof from === 'number' ? from : null,
  }
}

function unknownFeed(feed: string): AppError {
  const message = `The feed ${feed} was not asked for as this request has it; ask for its table first`
  return new AppError('UNKNOWN_FEED', { feed }, { message })
}

function unknownTable(name: string): AppError {
  return new AppError('UNKNOWN_TABLE', { data_name: name }, { message: `No table has the name ${name}` })
}
