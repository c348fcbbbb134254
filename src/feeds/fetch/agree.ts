import { AppError } from '../../errors.js'
import type { FeedRows, FeedStart } from '../../storage/exchange/feeds.js'
import type { LoaderTable, TableDefinition } from '../../storage/tables.js'
import { definitionDigest, type SentDefinition, type TableAnswer } from '../batch/definition.js'
import { type Registering, registerOnce, requireSame } from '../receive/same-table.js'
import type { FeedState, Session } from '../send/sender-deps.js'
import type { TakeDeps } from './take.js'

/** Dependencies of agreeing about a feed down. */
export interface AgreeDeps extends Registering, Pick<TakeDeps, 'inbox' | 'nodeId'> {
  readonly feeds: TakeDeps['feeds'] & Pick<FeedRows, 'noteStart'>
  /** Checks a definition as that of a registration. @throws AppError INVALID_PARAMS, TABLE_NOT_SENDABLE */
  readColumns(definition: SentDefinition): TableDefinition
}

/**
 * Takes what an upstream tells of the table of a feed down; registers the table if none has its name.
 *
 * @param options `isLate`: the upstream may have told it long ago, so that this gateway may have later changes
 * @returns the agreement, with the cursor that this gateway has
 * @throws AppError TABLE_DIFFERS, STALE_EPOCH, LOOP, INVALID_PARAMS, DISK_FULL
 */
export async function agree(
  deps: AgreeDeps,
  state: Pick<FeedState, 'record'>,
  asked: TableAnswer,
  { isLate = false }: { isLate?: boolean } = {},
): Promise<Session> {
  const { feedId: feed, dataName, start } = state.record
  if (asked.node === deps.nodeId) throw loop(asked.node)
  const local = await openTable(deps, dataName, asked)
  if (start.tableUuid === '') await keepStart(deps, state, asked.start)
  const begin = state.record.start
  const digest = definitionDigest(asked.definition)
  const sender = { sender: asked.node, feed, senderTable: asked.table, epoch: asked.epoch, digest }
  const isFirstTable = begin.tableUuid === asked.table
  const first = isFirstTable ? Math.min(begin.afterChange, asked.last) : 0
  const range = isLate ? { start: first } : { start: first, last: asked.last }
  const cursor = await deps.inbox.open(sender, local, range)
  return {
    ...{ peer: asked.node, tableUuid: asked.table, tableId: local.tableId, epoch: asked.epoch, digest },
    ...{ cursor, scanned: cursor },
  }
}

async function openTable(
  deps: AgreeDeps,
  dataName: string,
  { definition }: TableAnswer,
): Promise<LoaderTable> {
  const known = await deps.findTable(dataName)
  const table = known ?? (await registerOnce(deps, deps.readColumns(definition)))
  requireSame(table, definition)
  return table
}

/** Keeps where the feed begins before anything is taken: asked again, the upstream might begin later. */
async function keepStart(deps: AgreeDeps, state: Pick<FeedState, 'record'>, start: FeedStart): Promise<void> {
  await deps.feeds.noteStart(state.record.feedId, start)
  state.record = { ...state.record, start }
}

function loop(node: string): AppError {
  const message = `The upstream is this gateway (node ${node}): a feed comes from another node`
  return new AppError('LOOP', { node }, { message })
}
