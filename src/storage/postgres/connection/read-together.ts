/** Keys of one statement. */
interface Group<Row> {
  readonly keys: Set<string>
  readonly rows: Promise<ReadonlyMap<string, Row>>
}

/** Longest wait for the statement before, ms: one that is stuck must not hold up the others. */
const PATIENCE_MS = 1000

/**
 * Makes a function that reads rows by key. Keys that are asked for while a statement is under way share the next one:
 * thousands of small reads a second would cost more than what they read. A read begins after it was asked for, so it
 * sees what was committed by then.
 *
 * @param read returns the rows of several keys; what it throws, all of them throw. A call that takes long does not hold up
 *   the next one: two may be under way
 */
export function readTogether<Row>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
): (key: string) => Promise<Row | undefined> {
  let waiting: Group<Row> | undefined
  let running: Promise<unknown> = Promise.resolve()
  const begin = (): Group<Row> => {
    const keys = new Set<string>()
    const take = () => {
      waiting = undefined
      return read([...keys])
    }
    const rows = endOf(running).then(take)
    running = rows
    return { keys, rows }
  }
  return async (key) => {
    waiting ??= begin()
    const { keys, rows } = waiting
    keys.add(key)
    return (await rows).get(key)
  }
}

/** Waits until a statement has ended, well or not, or is stuck: its fault is that of its own keys. */
function endOf(running: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    running.then(end, end)
  })
}
