import { diskFaultKind, isAppError, messageOf } from '../errors.js'
import type { Counters, IfExists, LoaderTable } from '../storage/tables.js'
import type { Loader } from '../tables/loader.js'

/** A row on its way to a table. */
export interface PendingRow {
  readonly table: LoaderTable
  readonly ifExists: IfExists
  /** GeoJSON Feature */
  readonly record: unknown
  /** what became of it; undefined while it is not decided */
  outcome?: 'stored' | { readonly refused: string }
}

/** Stores rows; each is decided, or all that are not yet can be tried again. */
export interface RowSink {
  /**
   * Stores the rows that are not decided, those of a table together: it returns after their commit. A row that does
   * not fit is refused alone.
   *
   * @returns number of stored rows whose key existed
   * @throws Error of a fault that passes, such as a full disk: it says nothing of the rows that are not decided
   */
  store(rows: readonly PendingRow[]): Promise<number>
}

/** Faults of the gateway and not of a row: waiting helps. */
const PASSING = [
  'DISK_FULL',
  'BUSY',
  'UNAVAILABLE',
  'CANCELLED',
  'TIME_LIMIT',
  'STORAGE_FAILED',
  'STORAGE_DAMAGED',
]

/**
 * Creates the sink over the loader of tables.
 *
 * @param owner of the calls: owners have turns at the database
 * @param isClosing true while the gateway stops: no fault says anything of a row then
 */
export function createRowSink(
  loader: Pick<Loader, 'add'>,
  owner: string,
  isClosing: () => boolean = () => false,
): RowSink {
  const put = async (rows: readonly PendingRow[]): Promise<Counters> => {
    const [{ table, ifExists }] = rows as [PendingRow, ...PendingRow[]] // never empty
    return await loader.add(
      { table, ifExists, owner },
      rows.map(({ record }) => record),
    )
  }
  const isPassing = (error: unknown) =>
    isClosing() ||
    diskFaultKind(error) !== undefined ||
    (isAppError(error) && PASSING.includes(error.errorName))
  /** Stores rows one by one: calls that wait at the same time share a commit. */
  const putEach = async (rows: readonly PendingRow[]): Promise<Counters[]> => {
    const outcomes = await Promise.allSettled(
      rows.map(async (row) => {
        const counters = await put([row])
        row.outcome = 'stored'
        return counters
      }),
    )
    const failed = outcomes.find((outcome) => outcome.status === 'rejected' && isPassing(outcome.reason))
    for (const [at, outcome] of outcomes.entries()) {
      const row = rows[at] as PendingRow
      if (outcome.status === 'rejected' && !isPassing(outcome.reason))
        row.outcome = { refused: messageOf(outcome.reason) }
    }
    if (failed?.status === 'rejected') throw failed.reason
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  }
  const putTogether = async (rows: readonly PendingRow[]): Promise<Counters[]> => {
    try {
      const counters = await put(rows)
      for (const row of rows) row.outcome = 'stored'
      return [counters]
    } catch (error) {
      if (isPassing(error)) throw error
      return await putEach(rows)
    }
  }
  return {
    async store(rows) {
      const stored = await Promise.allSettled(groupsOf(rows).map(putTogether))
      const failed = stored.find((group) => group.status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
      const counters = stored.flatMap((group) => (group.status === 'fulfilled' ? group.value : []))
      return counters.reduce((sum, { duplicate }) => sum + duplicate, 0)
    },
  }
}

/** Rows that are not decided, by table and action. */
function groupsOf(rows: readonly PendingRow[]): PendingRow[][] {
  const groups = new Map<string, PendingRow[]>()
  for (const row of rows) {
    if (row.outcome !== undefined) continue
    const name = `${row.table.tableId} ${row.ifExists}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [row])
    else group.push(row)
  }
  return [...groups.values()]
}
