import { ERRORS, type Locker } from '@tus/server'

interface Holder {
  requestRelease(): void
  released: Promise<void>
  release(): void
}

/**
 * Makes the locks of uploads: one request at a time for each. A new request asks the holder to release the
 * lock, since a client that hangs without closing its connection would hold it for ever, and waits up to
 * `waitMs`.
 *
 * @param onAsked receives the call of a holder that is asked to release
 */
export function createLocker<Call>(
  waitMs: number,
  callOf: () => Call | undefined,
  onAsked: (call: Call) => void,
): Locker {
  const held = new Map<string, Holder>()
  return {
    newLock(id) {
      let mine: Holder | undefined
      return {
        async lock(signal, cancelRequest) {
          const endAt = performance.now() + waitMs
          for (let old = held.get(id); old !== undefined; old = held.get(id)) {
            old.requestRelease()
            const leftMs = endAt - performance.now()
            if (leftMs <= 0 || signal.aborted) throw ERRORS.ERR_LOCK_TIMEOUT
            await settledOrAfter(old.released, leftMs)
          }
          const call = callOf()
          const requestRelease = () => {
            if (call !== undefined) onAsked(call)
            void cancelRequest()
          }
          mine = { requestRelease, ...releaser() }
          held.set(id, mine)
        },
        async unlock() {
          if (mine === undefined) return
          held.delete(id)
          mine.release()
        },
      }
    },
  }
}

function releaser(): { released: Promise<void>; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { released: promise, release: resolve }
}

async function settledOrAfter(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}
