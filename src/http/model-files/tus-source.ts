import type { IncomingMessage } from 'node:http'
import { AppError } from '../../errors.js'

/** Bytes that are read ahead of the disk. Above `HIGH_BYTES` the sender waits, until `LOW_BYTES`. */
const HIGH_BYTES = 1024 * 1024
const LOW_BYTES = 256 * 1024
/** Silence after which an aborted connection is not read any further, ms. */
const QUIET_MS = 60
/** Longest time to read an aborted connection, ms. */
const MAX_LINGER_MS = 1000

/**
 * Reads the chunks of a request body without losing any when the connection breaks. Node drops the buffered
 * part of a stream that is destroyed, a large share on a link that breaks every few hundred kilobytes. So the
 * stream flows into a queue, and the queue is read to its end before the break is thrown.
 *
 * @param signal ends the reading as a broken connection does
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
  // bytes on their way are read before the new request receives an offset: until the connection is silent
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
    incoming.off('error', onBreak).on('error', () => undefined) // a later fault concerns nobody
    signal.removeEventListener('abort', onAbort)
  }
}
