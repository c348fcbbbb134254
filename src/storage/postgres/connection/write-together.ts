import { AppError } from '../../../errors.js'
import { isDatabaseFault } from './faults.js'

/** Outcome of one item of a group. */
export type GroupOutcome<Result> = { readonly result: Result } | { readonly fault: AppError }

interface Grouping<Item, Result> {
  /** most items of a group */
  readonly most: number
  /** Returns a key; items with the same one are never in one group. */
  keyOf(item: Item): string
  /** Writes a group in one transaction. @returns an outcome for each item; what it throws is the fault of all */
  write(lane: string, items: readonly Item[]): Promise<readonly GroupOutcome<Result>[]>
  /** clock that never goes back, ms */
  nowMs?(): number
}

/** A call that waits for its answer. */
export interface Settled<Result> {
  resolve(result: Result): void
  reject(error: unknown): void
}

interface Call<Item, Result> extends Settled<Result> {
  readonly item: Item
  readonly sinceMs: number
}

/** Longest wait for a turn, ms: later the caller may have gone, and its item would be written for nobody. */
const MAX_WAIT_MS = 15_000

/**
 * Makes a function that writes items. Those of one lane take turns, and those that wait at the same time share a
 * transaction: each commit takes the time of the disk and of the standby, and each transaction a connection. Lanes do not
 * wait for each other.
 *
 * A fault that is not the database's is that of one item: the items of such a group are written again, each for itself.
 *
 * @throws AppError BUSY for an item that waited too long, and what `write` throws
 */
export function writeTogether<Item, Result>(
  grouping: Grouping<Item, Result>,
): (lane: string, item: Item) => Promise<Result> {
  const { nowMs = () => performance.now() } = grouping
  const lanes = new Map<string, Call<Item, Result>[]>()
  const serve = async (lane: string, waiting: Call<Item, Result>[]) => {
    const write = (calls: readonly Call<Item, Result>[]) =>
      grouping.write(
        lane,
        calls.map(({ item }) => item),
      )
    while (waiting.length > 0) await settleTogether(takeGroup(grouping, waiting, nowMs()), write)
    lanes.delete(lane)
  }
  return (lane, item) =>
    new Promise((resolve, reject) => {
      const call = { item, sinceMs: nowMs(), resolve, reject }
      const known = lanes.get(lane)
      if (known !== undefined) {
        known.push(call)
        return
      }
      const waiting = [call]
      lanes.set(lane, waiting)
      void Promise.resolve().then(() => serve(lane, waiting)) // with the calls of this turn of the event loop
    })
}

/** Takes the next group from the calls that wait, the oldest first. One that waited too long is answered. */
function takeGroup<Item, Result>(
  { most, keyOf }: Grouping<Item, Result>,
  waiting: Call<Item, Result>[],
  nowMs: number,
): Call<Item, Result>[] {
  const group: Call<Item, Result>[] = []
  const keys = new Set<string>()
  const left: Call<Item, Result>[] = []
  for (const call of waiting.splice(0)) {
    const key = keyOf(call.item)
    if (nowMs - call.sinceMs > MAX_WAIT_MS) call.reject(tooLate())
    else if (group.length === most || keys.has(key)) left.push(call)
    else {
      keys.add(key)
      group.push(call)
    }
  }
  waiting.push(...left)
  return group
}

/**
 * Writes a group and answers its calls. A fault that is not the database's is that of one call: each of the group is
 * then written for itself. Never rejects.
 *
 * @param write returns an outcome for each call; what it throws is the fault of all
 */
export async function settleTogether<C extends Settled<Result>, Result>(
  group: readonly C[],
  write: (calls: readonly C[]) => Promise<readonly GroupOutcome<Result>[]>,
): Promise<void> {
  if (group.length === 0) return
  let outcomes: readonly GroupOutcome<Result>[]
  try {
    outcomes = await write(group)
  } catch (error) {
    if (group.length > 1 && !isDatabaseFault(error))
      for (const call of group) await settleTogether([call], write)
    else for (const call of group) call.reject(error)
    return
  }
  for (const [at, call] of group.entries()) {
    const outcome = outcomes[at] as GroupOutcome<Result> // there is one for each
    if ('fault' in outcome) call.reject(outcome.fault)
    else call.resolve(outcome.result)
  }
}

function tooLate(): AppError {
  const message = `The write waited for its turn for more than ${MAX_WAIT_MS / 1000} s`
  return new AppError('BUSY', { retryAfterS: 5 }, { message })
}
