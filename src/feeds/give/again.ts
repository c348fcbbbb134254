import type { DayRows } from '../../storage/exchange/day-rows.js'
import type { LoaderTable } from '../../storage/tables.js'
import { SENT_ROWS } from '../batch/format.js'
import { FULL_BYTES, keyText } from '../send/collect.js'
import { collectResend } from '../send/resend.js'
import type { CollectDeps, CollectState, Session } from '../send/sender-deps.js'

/** Rows that are asked for once more. */
export interface AgainRequest {
  /** UTC days of the rows' last writes at their origins, days since 1970, both included */
  readonly fromDay: number
  readonly toDay: number
  /** id of the last row here that was looked at */
  readonly afterRow: number
}

/** Rows that go once more. The batch stands for no changes: it ends where it begins. */
export interface AgainBatch {
  /** undefined without rows, and for a single row that no batch can hold */
  readonly body: Uint8Array | undefined
  /** unique key of that row */
  readonly tooLargeKey: string | undefined
  /** id up to which rows were looked at */
  readonly until: number
  readonly isEnd: boolean
}

/** Reads the next rows of some days that the asker should have, those of its cursor and before. */
export async function giveAgain(
  deps: CollectDeps & { readonly changes: DayRows },
  record: CollectState['record'],
  { table, session, hold }: { table: LoaderTable; session: Session; hold: (bytes: number) => Promise<void> },
  request: AgainRequest,
): Promise<AgainBatch> {
  await hold(FULL_BYTES)
  const state = { record, aside: new Set<number>(), maxRows: SENT_ROWS }
  const resend = { request, refused: new Set<number>() }
  const { rows, body, until, isEnd } = await collectResend(deps, state, { session, resend, table })
  const [first] = rows
  const tooLargeKey = body === undefined && first !== undefined ? keyText(table, first) : undefined
  return { body, tooLargeKey, until, isEnd }
}
