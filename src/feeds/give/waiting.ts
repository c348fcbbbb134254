import { AppError } from '../../errors.js'
import type { LoaderTable } from '../../storage/tables.js'

/** Requests that wait for a change of their table. */
export interface Waiting {
  /**
   * Waits until the last change of a table is another than the one that the caller has seen. A later request for
   * the same feed ends an earlier one, which its asker has given up.
   *
   * @throws AppError BUSY for more than `MAX_OF_KEY` requests of a key
   */
  wait(request: WaitingRequest): Promise<'changed' | 'ended'>
  /** Number of waiting requests. */
  count(): number
  stop(): void
}

/** A request that is about to wait. */
export interface WaitingRequest {
  readonly keyId: string
  readonly feedId: string
  readonly table: LoaderTable
  /** last change that the caller has seen */
  readonly seen: number
  readonly ms: number
  readonly signal: AbortSignal
}

interface WaitingDeps {
  /** Returns the last change of a table; another number when it was dropped. */
  lastChange(table: LoaderTable): Promise<number>
  /** Calls a listener after each write of this process. Returns a function that ends it. */
  watchWrites(listener: () => void): () => void
  /** Returns a number that changes with each commit, also of another process. */
  changeCount(): number
  /** time between two looks for commits of other processes */
  pollMs: number
}

/** Most requests of a key that wait at a time: a key has at most so many feeds of different tables. */
const MAX_OF_KEY = 64

interface Waiter {
  readonly keyId: string
  readonly seen: number
  end(how: 'changed' | 'ended'): void
}

interface Group {
  readonly table: LoaderTable
  readonly waiters: Set<Waiter>
}

/**
 * Creates the waiting requests. They hold a few hundred bytes each, and cost nothing until rows are written: then
 * each table with waiting requests is looked up once, whatever their number.
 */
export function createWaiting(deps: WaitingDeps): Waiting {
  const groups = new Map<number, Group>()
  const byFeed = new Map<string, Waiter>()
  const ofKey = new Map<string, number>()
  let unwatch: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  let seenCount = -1
  let isLooking = false
  let isStale = false

  const look = async () => {
    isStale = true
    if (isLooking) return
    isLooking = true
    while (isStale) {
      isStale = false
      for (const { table, waiters } of groups.values()) {
        const last = await deps.lastChange(table)
        for (const waiter of waiters) if (waiter.seen !== last) waiter.end('changed')
      }
    }
    isLooking = false
  }
  const begin = () => {
    unwatch = deps.watchWrites(() => void look())
    seenCount = deps.changeCount()
    timer = setInterval(() => {
      const count = deps.changeCount()
      if (count !== seenCount) void look()
      seenCount = count
    }, deps.pollMs).unref()
  }
  const finish = () => {
    unwatch?.()
    unwatch = undefined
    clearInterval(timer)
  }
  return {
    count: () => byFeed.size,
    async wait({ keyId, feedId, table, seen, ms, signal }) {
      if (signal.aborted || ms <= 0) return 'ended'
      const name = `${keyId} ${feedId}`
      byFeed.get(name)?.end('ended')
      requireRoom(ofKey.get(keyId) ?? 0)
      const group = groups.get(table.tableId) ?? { table, waiters: new Set<Waiter>() }
      groups.set(table.tableId, group)
      ofKey.set(keyId, (ofKey.get(keyId) ?? 0) + 1)
      return await new Promise((resolve) => {
        const waiter: Waiter = {
          ...{ keyId, seen },
          end(how) {
            if (!group.waiters.delete(waiter)) return
            clearTimeout(timeout)
            signal.removeEventListener('abort', hangUp)
            if (group.waiters.size === 0) groups.delete(table.tableId)
            if (byFeed.get(name) === waiter) byFeed.delete(name)
            countDown(ofKey, keyId)
            if (byFeed.size === 0) finish()
            resolve(how)
          },
        }
        const hangUp = () => waiter.end('ended')
        const timeout = setTimeout(() => waiter.end('ended'), ms)
        signal.addEventListener('abort', hangUp)
        group.waiters.add(waiter)
        if (byFeed.size === 0) begin()
        byFeed.set(name, waiter)
        void look() // a row that was written between the last look and now
      })
    },
    stop() {
      for (const waiter of [...byFeed.values()]) waiter.end('ended')
    },
  }
}

/** @throws AppError BUSY */
function requireRoom(count: number): void {
  if (count < MAX_OF_KEY) return
  const message = `The key has ${count} requests that wait for rows, expected at most ${MAX_OF_KEY}`
  throw new AppError('BUSY', {}, { message })
}

function countDown(ofKey: Map<string, number>, keyId: string): void {
  const left = (ofKey.get(keyId) ?? 1) - 1
  if (left === 0) ofKey.delete(keyId)
  else ofKey.set(keyId, left)
}
