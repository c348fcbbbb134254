import type { Readable } from 'node:stream'

/** Read ahead of the consumer up to this much, then the sender waits. */
const HIGH_BYTES = 1024 * 1024
const LOW_BYTES = 256 * 1024

/**
 * The chunks of a stream, none of them lost when it breaks: a stream that is destroyed drops what it still buffers,
 * and on a link that breaks often that would be asked for again and again. So it is kept flowing into a queue of our
 * own, from this call on, and the queue is read to its end before the break is told.
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
