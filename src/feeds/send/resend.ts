import { AppError } from '../../errors.js'
import type { ValueEnv } from '../../storage/columns/column-type.js'
import type { DayFilter, DayRow, DayRows } from '../../storage/exchange/day-rows.js'
import type { FeedResend, FeedResends } from '../../storage/exchange/feed-resends.js'
import type { FeedIdentity, FeedRecord } from '../../storage/exchange/feeds.js'
import type { LoaderTable } from '../../storage/tables.js'
import { encodeBatch } from '../batch/encode.js'
import { MAX_BATCH_ROWS } from '../batch/format.js'
import { FULL_BYTES, headerOf, isKnownTo, sizeOf, slotsOf } from './collect.js'
import { requireTable } from './require-table.js'
import { scopeOf } from './scope.js'
import type { CollectDeps, CollectState, Session } from './sender-deps.js'

/** Row ids that are looked at in one read. */
const WINDOW_ROWS = 1000
/** Most windows that are looked at for one batch. */
const MAX_WINDOWS = 100

interface AskDeps {
  readonly resends: Pick<FeedResends, 'ask'>
  readonly identity: Pick<FeedIdentity, 'tableUuid'>
  readonly changes: Pick<DayRows, 'countOfDays'>
  findTable(dataName: string): Promise<LoaderTable | undefined>
  /** for conditions */
  env(): ValueEnv
}

/**
 * Asks for rows of a feed to go once more: those whose last write at their origin was on one of some UTC days.
 *
 * @param fromDay first day, since 1970
 * @param toDay last day
 * @throws AppError UNKNOWN_TABLE; NOT_IN_THIS_VERSION for a feed that sends a citation
 */
export async function askResend(
  deps: AskDeps,
  record: FeedRecord,
  { fromDay, toDay }: { fromDay: number; toDay: number },
): Promise<FeedResend> {
  requireTable(record)
  const table = await deps.findTable(record.dataName)
  const tableUuid = table === undefined ? undefined : await deps.identity.tableUuid(table)
  if (table === undefined || tableUuid === undefined) {
    const message = `No table has the name ${record.dataName}`
    throw new AppError('UNKNOWN_TABLE', { data_name: record.dataName }, { message })
  }
  const untilChange = Number.MAX_SAFE_INTEGER
  const filter = filterOf(deps, record, { table, tableUuid, fromDay, toDay, untilChange })
  const rows = await deps.changes.countOfDays(table, filter)
  return await deps.resends.ask({ feedId: record.feedId, fromDay, toDay, rows })
}

function filterOf(
  { env }: Pick<AskDeps, 'env'>,
  record: Pick<FeedRecord, 'conds' | 'columns' | 'start'>,
  {
    table,
    tableUuid,
    ...part
  }: Pick<DayFilter, 'fromDay' | 'toDay' | 'untilChange'> & { table: LoaderTable; tableUuid: string },
): DayFilter {
  const { afterChange, backlog } = scopeOf(record, table, tableUuid)
  const untilBacklog = backlog === undefined ? {} : { backlog }
  return { ...part, ...untilBacklog, afterChange, conds: record.conds, env: env() }
}

/** Dependencies of reading rows that go once more. */
type ResendDeps = CollectDeps & { readonly changes: DayRows }

/** Place of a request, and the changes that the receiver has refused since. */
interface ResendPlace {
  readonly request: Pick<FeedResend, 'fromDay' | 'toDay' | 'afterRow'>
  readonly refused: ReadonlySet<number>
}

/** Rows that go once more. */
export interface ResendBatch {
  /** none where no row of the days was found so far */
  readonly rows: readonly DayRow[]
  /** undefined without rows, and for a single row that no batch can hold */
  readonly body: Uint8Array | undefined
  /** id up to which rows were looked at */
  readonly until: number
  readonly isEnd: boolean
}

/**
 * Makes the next batch of rows that go once more. It stands for no changes: it begins and ends at the cursor of the receiver, so
 * that it is taken only in the place where it was made.
 */
export async function collectResend(
  deps: ResendDeps,
  state: CollectState,
  { session, resend, table }: { session: Session; resend: ResendPlace; table: LoaderTable },
): Promise<ResendBatch> {
  for (;;) {
    const found = await readRows(deps, state, { session, resend, table })
    if (found.rows.length === 0) return { ...found, body: undefined }
    const slots = slotsOf(table, state.record.columns)
    const header = headerOf(deps, state, session, session.cursor)
    const body = await encodeBatch(header, slots, found.rows)
    if (body !== undefined || found.rows.length === 1) return { ...found, body }
    state.maxRows = Math.max(1, found.rows.length >> 1)
  }
}

async function readRows(
  deps: ResendDeps,
  { record, maxRows }: CollectState,
  {
    session,
    resend: { request, refused },
    table,
  }: { session: Session; resend: ResendPlace; table: LoaderTable },
): Promise<Omit<ResendBatch, 'body'>> {
  // what comes later travels as it is; rows that were set aside lie between the cursor and `scanned`
  const { tableUuid, scanned: untilChange, peer } = session
  const { fromDay, toDay } = request
  const filter = filterOf(deps, record, { table, tableUuid, fromDay, toDay, untilChange })
  const rows: DayRow[] = []
  const most = Math.min(maxRows, MAX_BATCH_ROWS)
  let until = request.afterRow
  let bytes = 0
  for (let window = 0; window < MAX_WINDOWS; window++) {
    const found = await deps.changes.ofDays(table, until, WINDOW_ROWS, filter)
    for (const row of found.rows) {
      const size = sizeOf(row)
      if (rows.length === most || (rows.length > 0 && bytes + size > FULL_BYTES))
        return { rows, until, isEnd: false }
      until = row.rowId
      if (isKnownTo(peer, row) || refused.has(row.change)) continue
      bytes += size
      rows.push(row)
    }
    until = found.until
    if (found.isEnd) return { rows, until, isEnd: true }
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { rows, until, isEnd: false }
}
