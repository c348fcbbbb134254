import type { IncomingMessage } from 'node:http'
import { AppError } from '../../errors.js'

/** Read ahead of the disk up to this much, then the sender waits. */
const HIGH_BYTES = 1024 * 1024
const LOW_BYTES = 256 * 1024
/** A connection that was given up is read until nothing came for so long, */
const QUIET_MS = 60
/** and at most so long. */
const MAX_LINGER_MS = 1000

/**
 * The chunks of a request body, none of them lost when the connection breaks: Node drops what a stream still buffers
 * when it is destroyed, and on a link that breaks every few hundred kilobytes that is a large share of what came. So
 * the stream is kept flowing into a queue of our own, and the queue is read to its end before the break is told.
 *
 * @param signal ends the reading as if the connection had broken
 * @throws AppError BODY_TIMEOUT after `idleMs` of silence, CANCELLED when the connection broke
 */
export async function* flowingChunks(
  incoming: IncomingMessage,
  idleMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const queue: Uint8Array[] = []
  let queuedBytes = 0
  let end: { error: unknown } | undefined
  let wake: () => void = () => undefined
  const finish = (error: unknown) => {
    end ??= { error }
    wake()
  }
  const onData = (chunk: Uint8Array) => {
    queue.push(chunk)
    queuedBytes += chunk.byteLength
    if (queuedBytes > HIGH_BYTES) incoming.pause()
    wake()
  }
  const onEnd = () => finish(undefined)
  const onBreak = (cause?: unknown) =>
    finish(incoming.complete ? undefined : new AppError('CANCELLED', {}, { cause }))
  // what is on its way already is taken before the newcomer is told an offset: until it falls silent
  const onAbort = () => {
    const silence = setInterval(() => {
      if (isQuiet || performance.now() > endAtMs) {
        clearInterval(silence)
        finish(new AppError('CANCELLED'))
      }
      isQuiet = true
    }, QUIET_MS)
    const endAtMs = performance.now() + MAX_LINGER_MS
    let isQuiet = true
    incoming.on('data', () => {
      isQuiet = false
    })
  }
  incoming.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    for (;;) {
      const chunk = queue.shift()
      if (chunk !== undefined) {
        queuedBytes -= chunk.byteLength
        if (queuedBytes < LOW_BYTES && incoming.isPaused()) incoming.resume()
        yield chunk
      } else if (end !== undefined) {
        if (end.error !== undefined) throw end.error
        return
      } else {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(() => finish(new AppError('BODY_TIMEOUT', { idleMs })), idleMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    }
  } finally {
    incoming.off('data', onData).off('end', onEnd).off('close', onBreak)
    incoming.off('error', onBreak).on('error', () => undefined) // a late fault has nobody to tell
    signal.removeEventListener('abort', onAbort)
  }
}
