import type { Log } from '../../log.js'
import type { FeedIdentity, FeedRows } from '../../storage/exchange/feeds.js'
import type { TableDigests } from '../../storage/exchange/table-digests.js'
import type { LoaderTable } from '../../storage/tables.js'
import { scopeOf } from '../send/scope.js'

interface KeeperDeps {
  readonly feeds: Pick<FeedRows, 'list'>
  readonly digests: TableDigests
  readonly identity: Pick<FeedIdentity, 'tableUuid'>
  findTable(dataName: string): Promise<LoaderTable | undefined>
  /** @throws when `signal` fires */
  pause(ms: number, signal: AbortSignal): Promise<void>
  /** monotonic clock */
  nowMs(): number
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Counts rows in the background. */
export interface SumsKeeper {
  stop(): Promise<void>
}

/** Time between two looks for rows to count, ms. A look costs some searches of an index. */
const LOOK_MS = 10_000
/** Rows that are counted in one write: about 5 ms. */
const PART_ROWS = 1000

/**
 * Starts to keep the sums of tables that travel as a whole: a table begins to be counted when it has a feed, and rows that no
 * write has counted are counted in small parts, with as much time for all other work between them.
 */
export function startSumsKeeper(deps: KeeperDeps): SumsKeeper {
  const stopping = new AbortController()
  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        await beginAll(deps)
        await countSome(deps, stopping.signal)
      } catch (error) {
        if (!stopping.signal.aborted) deps.log.warn({ err: error }, 'rows of feeds could not be counted')
      }
      await deps.pause(LOOK_MS, stopping.signal).catch(() => undefined) // it fails when the keeper is stopped
    }
  }
  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function beginAll({ feeds, digests, identity, findTable }: KeeperDeps): Promise<void> {
  for (const record of await feeds.list()) {
    if (record.direction === 'down' || record.start.citation !== undefined) continue
    const table = await findTable(record.dataName)
    const tableUuid = table === undefined ? undefined : await identity.tableUuid(table)
    if (table === undefined || tableUuid === undefined) continue
    if (scopeOf(record, table, tableUuid).isWhole) await digests.begin(table)
  }
}

async function countSome({ digests, log, nowMs, pause }: KeeperDeps, signal: AbortSignal): Promise<void> {
  for (const { table, isStale } of await digests.uncounted()) {
    if (isStale)
      log.info({ table: table.dataName }, 'rows of a table are counted again for comparison with other nodes')
    for (;;) {
      const startMs = nowMs()
      if (await digests.count(table, PART_ROWS)) break
      await pause(nowMs() - startMs, signal)
    }
  }
}
