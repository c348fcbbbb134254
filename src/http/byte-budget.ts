import { AppError } from '../errors.js'

/** Bytes that were taken from the budget. */
export interface Share {
  /** gives the bytes back; a second call does nothing */
  release(): void
}

/** Budget of the bytes that all requests together hold in memory: bodies and answers on their way. */
export interface ByteBudget {
  /**
   * Takes bytes, or waits for a turn. An owner that holds nothing is served when there is room; one that
   * holds some may take as much as it leaves free. So one owner gets at most half of the budget, and several
   * leave room for a further one. Waiting owners have turns; the requests of one are served in their order.
   *
   * @param owner id of a key or an address
   * @param bytes more than the budget has counts as the whole budget
   * @param hangUp makes the signal that ends the wait; called only for a request that waits
   * @throws AppError BUSY when too many wait, or after the longest wait; CANCELLED when the signal fires
   * @see A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet
   *   switches", IEEE/ACM Transactions on Networking 6(2), 1998
   */
  take(owner: string, bytes: number, hangUp?: () => AbortSignal): Promise<Share>
  /** Takes bytes if that needs no wait. @throws AppError BUSY */
  takeNow(owner: string, bytes: number): Share
  /** Counts bytes that are in memory already; others wait longer for it. */
  note(owner: string, bytes: number): Share
  facts(): BudgetFacts
}

export interface BudgetFacts {
  readonly usedBytes: number
  readonly waiting: number
  /** requests refused since the start */
  readonly refused: number
}

interface BudgetOptions {
  readonly totalBytes: number
  /** most requests of one owner that wait */
  readonly maxWaitingPerOwner: number
  /** most requests that wait */
  readonly maxWaiting: number
  readonly waitMs: number
}

interface Waiter {
  readonly bytes: number
  grant(share: Share): void
}

/** Time that a refused caller should wait, s. */
const RETRY_S = 2

/** Bytes that owners hold. */
interface Ledger {
  usedBytes(): number
  /** true when an owner may take that much now */
  fits(owner: string, bytes: number): boolean
  add(owner: string, bytes: number): Share
}

/** Keeps what owners hold. @param onRelease called after bytes were given back */
function createLedger(totalBytes: number, onRelease: () => void): Ledger {
  const held = new Map<string, number>()
  let used = 0
  return {
    usedBytes: () => used,
    fits(owner, bytes) {
      const free = totalBytes - used - bytes
      const mine = held.get(owner) ?? 0
      if (bytes === 0) return mine === 0 || free >= 0 // a small request waits for its owner's excess alone
      return free >= 0 && (mine === 0 || mine + bytes <= free)
    },
    add(owner, bytes) {
      used += bytes
      held.set(owner, (held.get(owner) ?? 0) + bytes)
      let isHeld = true
      return {
        release() {
          if (!isHeld) return
          isHeld = false
          used -= bytes
          const left = (held.get(owner) ?? 0) - bytes
          if (left > 0) held.set(owner, left)
          else held.delete(owner)
          onRelease()
        },
      }
    },
  }
}

/** Requests that wait, by owner. The first owner of the map is served next. */
type Queues = Map<string, Waiter[]>

/**
 * Creates a budget. A wait costs a timer and an entry; a request that does not wait costs two map operations.
 */
export function createByteBudget(options: BudgetOptions): ByteBudget {
  const { totalBytes, maxWaiting, maxWaitingPerOwner, waitMs } = options
  const queues: Queues = new Map()
  const ledger = createLedger(totalBytes, () => serve(queues, ledger))
  let waiting = 0
  let refused = 0

  const busy = (reason: string): AppError => {
    refused++
    const message = `${reason} (limits.bytesInFlight); try again in ${RETRY_S} s`
    return new AppError('BUSY', { retryAfterS: RETRY_S }, { message })
  }
  const wait = async (owner: string, bytes: number, hangUp?: () => AbortSignal): Promise<Share> => {
    const queue = queues.get(owner) ?? []
    if (queue.length >= maxWaitingPerOwner || waiting >= maxWaiting)
      throw busy('Too many requests wait for memory')
    const { promise, resolve, reject } = Promise.withResolvers<Share>()
    const waiter: Waiter = { bytes, grant: resolve }
    const giveUp = (error: AppError) => {
      leave(queues, owner, waiter) // at once: nothing is granted to who has gone
      reject(error)
    }
    const tooLate = `No memory was free for this request within ${waitMs} ms`
    const timer = setTimeout(() => giveUp(busy(tooLate)), waitMs)
    const signal = hangUp?.()
    const onAbort = () => giveUp(new AppError('CANCELLED'))
    signal?.addEventListener('abort', onAbort, { once: true })
    waiting++
    queues.set(owner, [...queue, waiter])
    if (signal?.aborted === true) onAbort()
    try {
      return await promise
    } catch (error) {
      serve(queues, ledger) // a smaller request behind this one may fit
      throw error
    } finally {
      waiting--
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }
  return {
    async take(owner, bytes, hangUp) {
      const amount = Math.min(bytes, totalBytes)
      // behind the earlier requests of the same owner, unless it takes nothing
      const isNext = amount === 0 || !queues.has(owner)
      return isNext && ledger.fits(owner, amount)
        ? ledger.add(owner, amount)
        : await wait(owner, amount, hangUp)
    },
    takeNow(owner, bytes) {
      const amount = Math.min(bytes, totalBytes)
      if (ledger.fits(owner, amount)) return ledger.add(owner, amount)
      throw busy('No memory is free for this request')
    },
    note: ledger.add,
    facts: () => ({ usedBytes: ledger.usedBytes(), waiting, refused }),
  }
}

/** Serves waiting owners in turns, until the first request of no owner fits. */
function serve(queues: Queues, ledger: Ledger): void {
  for (let passed = 0; passed < queues.size; ) {
    const [next] = queues
    if (next === undefined) return
    const [owner, [first, ...rest]] = next
    const isServed = first !== undefined && ledger.fits(owner, first.bytes)
    queues.delete(owner) // it goes behind the others
    if (!isServed) queues.set(owner, next[1])
    else if (rest.length > 0) queues.set(owner, rest)
    if (isServed) first.grant(ledger.add(owner, first.bytes))
    passed = isServed ? 0 : passed + 1
  }
}

function leave(queues: Queues, owner: string, waiter: Waiter): void {
  const rest = (queues.get(owner) ?? []).filter((other) => other !== waiter)
  if (rest.length > 0) queues.set(owner, rest)
  else queues.delete(owner)
}
