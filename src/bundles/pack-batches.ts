import { MAX_BATCH_ROWS } from '../feeds/batch/format.js'
import { collectBatch } from '../feeds/send/collect.js'
import type { CollectDeps, CollectState, Session } from '../feeds/send/sender-deps.js'
import type { ChangedRow, LoaderTable } from '../storage/tables.js'
import { partLine } from './content/parts.js'
import { type Budget, type PackedFeeds, spend } from './packed.js'

/** A feed whose rows are packed. */
interface PackedFeed {
  readonly record: CollectState['record']
  readonly table: LoaderTable
  readonly session: Session
  /** changes of rows that are left out */
  readonly aside: Set<number>
  /** last change that is packed */
  readonly last: number
}

/**
 * Packs the batches of a feed from the cursor of its session, which moves with them.
 *
 * @param onTooLarge called with a row that no batch can hold; it is left out
 * @returns true when rows are left for which there is no room
 */
export async function* packBatches(
  deps: CollectDeps,
  { record, table, session, aside, last }: PackedFeed,
  { budget, packed }: { budget: Budget; packed: PackedFeeds },
  onTooLarge: (row: ChangedRow) => Promise<void>,
): AsyncGenerator<Uint8Array, boolean> {
  const state: CollectState = { record, aside, maxRows: MAX_BATCH_ROWS }
  while (session.cursor < last) {
    const batch = await collectBatch(deps, state, session, table)
    if (batch === undefined) break
    if ('tooLarge' in batch) {
      await onTooLarge(batch.tooLarge)
      aside.add(batch.tooLarge.change)
      continue
    }
    const { changes, body } = batch
    const head = { feed: record.feedId, after: session.cursor, last: batch.last, changes: runsOf(changes) }
    const part = Buffer.concat([partLine('batch', head, body.byteLength), body])
    if (spend(budget, part) === undefined) {
      if (changes.length === 1) return true
      state.maxRows = Math.max(1, Math.floor((changes.length * budget.left) / part.byteLength / 2))
      session.scanned = session.cursor
      continue
    }
    yield part
    packed.rows += changes.length
    session.cursor = batch.last
    session.scanned = batch.last
    state.maxRows = MAX_BATCH_ROWS
  }
  return false
}

/** Notes what a bundle holds of a feed. */
export function noteFeed(
  packed: PackedFeeds,
  { feedId, dataName }: { readonly feedId: string; readonly dataName: string },
  { session, after, isCut }: { session: Session; after: number; isCut: boolean },
): void {
  const { tableUuid, epoch, cursor, scanned } = session
  packed.feeds.push({
    feed: feedId,
    table: tableUuid,
    epoch,
    after,
    last: cursor,
    scanned: isCut ? cursor : scanned,
  })
  if (isCut) packed.cut.push(dataName)
}

/** Returns runs of change numbers: first ones, and how many follow each other. */
function runsOf(changes: readonly number[]): [number, number][] {
  const runs: [number, number][] = []
  for (const change of changes) {
    const run = runs.at(-1)
    if (run !== undefined && run[0] + run[1] === change) run[1]++
    else runs.push([change, 1])
  }
  return runs
}
