import type { Readable } from 'node:stream'

/** Bytes read ahead of the consumer before the sender has to wait, and the level at which it may go on. */
const HIGH_BYTES = 1024 * 1024
const LOW_BYTES = 256 * 1024

/**
 * Returns the chunks of a stream without losing any when it breaks. A destroyed stream drops what it has
 * buffered, which a link that breaks often would have to send again and again. From this call on the stream
 * flows into a queue, which is read to its end before the error is thrown.
 */
export function flowing(stream: Readable): AsyncIterableIterator<Uint8Array> {
  const queue: Uint8Array[] = []
  let queuedBytes = 0
  let end: { error: unknown } | undefined
  let wake: () => void = () => undefined
  const finish = (error: unknown) => {
    end ??= { error }
    wake()
  }
  stream
    .on('data', (chunk: Uint8Array) => {
      queue.push(chunk)
      queuedBytes += chunk.byteLength
      if (queuedBytes > HIGH_BYTES) stream.pause()
      wake()
    })
    .on('end', () => finish(undefined))
    .on('error', finish)
    .on('close', () => finish(new Error('the connection was closed')))
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    for (;;) {
      const chunk = queue.shift()
      if (chunk !== undefined) {
        queuedBytes -= chunk.byteLength
        if (queuedBytes < LOW_BYTES && stream.isPaused()) stream.resume()
        return { done: false, value: chunk }
      }
      if (end?.error !== undefined) throw end.error
      if (end !== undefined) return { done: true, value: undefined }
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return {
    next,
    async return() {
      finish(undefined)
      stream.destroy()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
