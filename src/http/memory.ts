import type { Caller } from '../auth/caller.js'
import type { ByteBudget, Share } from './byte-budget.js'
import { type HttpContext, headerOf } from './env.js'

/** The budget, and what ends a wait for it. */
interface MemoryDeps {
  readonly budget: ByteBudget
  /** fires when the gateway stops */
  readonly stopSignal: AbortSignal
}

/** Holder of memory: a key, or an address on paths that need none. */
type Owner = Pick<Caller, 'keyId'>

/** Memory of a body or an answer that is passed on piece by piece. */
export const STREAM_BYTES = 1024 * 1024
/** Bodies of up to this size are read without a turn: a connection holds no more of them than one. */
export const SMALL_BODY_BYTES = 16 * 1024
/** A body counts as its bytes and their parsed form. */
const BODY_FACTOR = 2

/** Takes memory for a body that is passed on, or waits for a turn. @throws AppError BUSY, CANCELLED */
export async function takeStream(
  c: HttpContext,
  deps: MemoryDeps,
  caller: Owner,
  bytes = STREAM_BYTES,
): Promise<Share> {
  return await deps.budget.take(caller.keyId, bytes, () =>
    AbortSignal.any([c.req.raw.signal, deps.stopSignal]),
  )
}

/** Memory of a body whose parts may be large. */
interface GrowingShare extends Share {
  /** Waits until so many bytes may be held in all. @throws AppError BUSY, CANCELLED */
  hold(bytes: number): Promise<void>
}

/**
 * Takes memory for a body that is passed on in parts, or waits for a turn.
 *
 * @param bytes memory of ordinary parts, which is kept to the end
 * @throws AppError BUSY, CANCELLED
 */
export async function takeGrowing(
  c: HttpContext,
  deps: MemoryDeps,
  caller: Owner,
  bytes: number,
): Promise<GrowingShare> {
  const first = await takeStream(c, deps, caller, bytes)
  let more: Share[] = []
  let heldBytes = bytes
  const giveBack = () => {
    for (const share of more) share.release()
    more = []
    heldBytes = bytes
  }
  return {
    async hold(wanted) {
      if (wanted <= bytes) return giveBack()
      if (wanted <= heldBytes) return
      // in growing steps: each waits behind the other requests of the key, and a small body holds no more than it needs
      const missing = Math.max(wanted - heldBytes, Math.min(heldBytes, STREAM_BYTES))
      more.push(await takeStream(c, deps, caller, missing))
      heldBytes += missing
    },
    release() {
      giveBack()
      first.release()
    },
  }
}

/**
 * Takes memory for a body that is read as a whole, or waits for a turn, before its first byte is read.
 *
 * @param inlineBytes largest body that is held in memory
 * @throws AppError BUSY, CANCELLED
 */
export async function takeBody(
  c: HttpContext,
  deps: MemoryDeps,
  caller: Owner,
  inlineBytes: number,
): Promise<Share> {
  const sizeBytes = Math.min(bodyBytes(c), inlineBytes)
  return await takeStream(c, deps, caller, sizeBytes <= SMALL_BODY_BYTES ? 0 : sizeBytes * BODY_FACTOR)
}

/** Size of a body by its headers; infinite for one that does not tell. */
export function bodyBytes(c: HttpContext): number {
  if (headerOf(c, 'transfer-encoding') !== undefined) return Number.POSITIVE_INFINITY
  return Number(headerOf(c, 'content-length') ?? 0)
}

/**
 * Makes the admission of streamed results. The first of a request waits for its turn; a further one of a
 * batch does not, since it would hold the first one's memory meanwhile.
 */
export function streamAdmission(c: HttpContext, deps: MemoryDeps, caller: Owner): () => Promise<() => void> {
  let open = 0
  return async () => {
    const share =
      open === 0 ? await takeStream(c, deps, caller) : deps.budget.takeNow(caller.keyId, STREAM_BYTES)
    open++
    return () => {
      open--
      share.release()
    }
  }
}
