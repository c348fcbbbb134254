import { AppError } from '../../errors.js'
import type { FeedProgress, FeedRecord } from '../../storage/exchange/feeds.js'
import type { LoaderTable } from '../../storage/tables.js'
import { definitionDigest, sentDefinition } from '../batch/definition.js'
import { type FeedLink, refusalName, type SumsRequest } from '../send/link.js'
import { requireTable } from '../send/require-table.js'
import { type FeedScope, scopeOf } from '../send/scope.js'
import { compareSums } from './compare.js'
import type { Verification, VerifyDeps } from './deps.js'
import { countAll, type FeedSums, keptSums, scannedSums } from './sums.js'
import { compareDown } from './verify-down.js'

export type { Verification, VerifyDeps } from './deps.js'

/** A feed whose table is compared. */
interface Compared {
  readonly record: FeedRecord
  readonly table: LoaderTable
  readonly scope: FeedScope
  readonly request: Omit<SumsRequest, 'origins' | 'recount'>
}

/** Longest time for which a comparison waits until the receiver has everything, ms. */
const WAIT_MS = 20_000
/** Time between two questions to the receiver, and between two looks at a table that is written, ms. */
const ASK_MS = 250
const LOOK_MS = 5
/** Most states of a table that are remembered until the receiver has one of them. */
const MAX_STATES = 1000

/**
 * Compares the table of a feed with what the receiver has of it, or what a feed down has brought here with what its
 * upstream gives: one question when the receiver has everything. A table that is written meanwhile is compared in a state that the receiver has reached.
 *
 * @param isRecount both sides count all rows again, instead of trusting what they keep with each write
 * @throws AppError UNKNOWN_TABLE, UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED; FEED_BEHIND when the receiver
 *   lacks rows that were not sent yet
 */
export async function verifyFeed(
  deps: VerifyDeps,
  record: FeedRecord,
  isRecount: boolean,
  signal: AbortSignal,
): Promise<Verification> {
  requireTable(record)
  if (record.direction === 'down') {
    const link = await deps.connect(record.upstream)
    return await compareDown(deps, record, { link, isRecount }, signal).finally(() => link.close())
  }
  const compared = await prepare(deps, record)
  const { table, scope } = compared
  if (scope.isWhole && isRecount) await deps.digests.restart(table)
  if (scope.isWhole) await countAll(deps, table, signal)
  const link = await deps.connect(record.upstream)
  try {
    return await compare(deps, compared, { link, isRecount }, signal)
  } finally {
    await link.close()
  }
}

async function prepare(deps: VerifyDeps, record: FeedRecord): Promise<Compared> {
  const { identity, nodeId } = deps
  const table = await deps.findTable(record.dataName)
  const tableUuid = table === undefined ? undefined : await identity.tableUuid(table)
  if (table === undefined || tableUuid === undefined) {
    const message = `No table has the name ${record.dataName}`
    throw new AppError('UNKNOWN_TABLE', { data_name: record.dataName }, { message })
  }
  const digest = definitionDigest(sentDefinition(table, record.columns))
  const request = {
    node: nodeId,
    feed: record.feedId,
    table: tableUuid,
    epoch: await identity.epoch(),
    digest,
  }
  return { record, table, scope: scopeOf(record, table, tableUuid), request }
}

async function compare(
  deps: VerifyDeps,
  compared: Compared,
  { link, isRecount }: { link: FeedLink; isRecount: boolean },
  signal: AbortSignal,
): Promise<Verification> {
  const { record, request } = compared
  const endsAtMs = deps.nowMs() + WAIT_MS
  const states = new Map<number, FeedSums>()
  for (let isFirst = true; ; isFirst = false) {
    await look(deps, compared, states, signal)
    const asked = ask(
      link,
      { ...request, origins: originsOf(states, deps.nodeId), recount: isFirst && isRecount },
      signal,
    )
    const answer = await whileLooking(deps, compared, { states, asked }, signal)
    const progress = await deps.progress(record.feedId)
    const state = answer === undefined ? undefined : reached(states, answer.cursor, progress)
    if (answer !== undefined && state !== undefined) {
      const nodes = { nodeId: deps.nodeId, receiver: answer.node }
      const differences = compareSums(state.days, answer.sums, nodes)
      return { isEqual: differences.days.length === 0, ...differences }
    }
    const isWaiting = record.isEnabled && (progress?.stopped ?? null) === null
    if (!isWaiting || deps.nowMs() > endsAtMs) throw behind(record, states, answer?.cursor ?? 0)
    await whileLooking(deps, compared, { states, asked: deps.pause(ASK_MS, signal) }, signal)
  }
}

/** Asks the receiver. @returns undefined when it was not offered the table yet */
async function ask(
  link: FeedLink,
  request: SumsRequest,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<FeedLink['sums']>> | undefined> {
  try {
    return await link.sums(request, signal)
  } catch (error) {
    if (refusalName(error) === 'UNKNOWN_FEED') return undefined
    throw error
  }
}

/** Looks at the states of the table until something is there. */
async function whileLooking<T>(
  deps: VerifyDeps,
  compared: Compared,
  { states, asked }: { states: Map<number, FeedSums>; asked: Promise<T> },
  signal: AbortSignal,
): Promise<T> {
  let isAnswered = false
  const answered = asked.then(
    () => {
      isAnswered = true
    },
    () => {
      isAnswered = true
    },
  )
  for (;;) {
    await Promise.race([answered, deps.pause(LOOK_MS, signal)])
    if (isAnswered) return await asked
    if (compared.scope.isWhole) await look(deps, compared, states, signal)
  }
}

/** Remembers the sums of the table as it is now. */
async function look(
  deps: VerifyDeps,
  { record, table, scope }: Compared,
  states: Map<number, FeedSums>,
  signal: AbortSignal,
): Promise<void> {
  if (states.has(await deps.changes.last(table))) return
  const sums = scope.isWhole
    ? await keptSums(deps, table, signal)
    : await scannedSums(deps, record, { table, scope }, signal)
  if (sums === undefined) return
  states.set(sums.last, sums)
  const [oldest] = states.keys()
  if (states.size > MAX_STATES && oldest !== undefined) states.delete(oldest)
}

function originsOf(states: ReadonlyMap<number, FeedSums>, nodeId: string): string[] {
  const all = [...states.values()].at(-1)?.days ?? []
  return [...new Set([nodeId, ...all.map(({ origin }) => origin).filter((origin) => origin !== '')])]
}

/** Returns the state of the table that the receiver has: what lies between its cursor and `scanned` is not sent. */
function reached(
  states: ReadonlyMap<number, FeedSums>,
  cursor: number,
  progress: FeedProgress | undefined,
): FeedSums | undefined {
  return states.get(cursor) ?? (progress?.cursor === cursor ? states.get(progress.scanned) : undefined)
}

function behind(
  { dataName, progress }: FeedRecord,
  states: ReadonlyMap<number, FeedSums>,
  cursor: number,
): AppError {
  const last = Math.max(0, ...states.keys())
  const why = progress.stopped === null ? '' : `; the feed has stopped: ${progress.stopped}`
  const message = `Found ${Math.max(0, last - cursor)} changes of ${dataName} that are not sent yet, expected none${why}`
  return new AppError('FEED_BEHIND', { cursor, last_change: last }, { message })
}
