import type { Compression } from './compress.js'

/** Options of a body that is made while it is sent. */
export interface StreamOptions {
  requestId: string
  /** time without reading after which the client is disconnected, ms */
  writeIdleMs: number
  /** what the caller asks for; absent for bodies that are sent as they are */
  compression?: Compression | undefined
  /** receives a fault after the first byte; the client sees a broken transfer */
  onFault(error: unknown): void
  /** called when the client hung up before the end, after the source is closed */
  onHangUp(): void
  /** counts a text that is in memory until it is sent; absent where memory is not counted */
  holdText?(bytes: number): { release(): void }
  /** cuts the connection, the only sign to a client that a body is incomplete */
  breakOff(): void
}

/** Source of the bytes of a body, a piece at a time. */
interface BodySource {
  next(): Promise<{ bytes: Uint8Array | undefined; isDone: boolean }>
  /** closes the source before its end */
  stop(): Promise<unknown>
}

/**
 * Makes a body while it is sent. A client that stops reading pauses the source, one that hangs up closes it.
 */
export function bodyStream(source: BodySource, options: StreamOptions): ReadableStream<Uint8Array> {
  let idleTimer: NodeJS.Timeout | undefined
  let isOver = false // a client can hang up while a piece is being made
  const end = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    isOver = true
    options.breakOff() // before the close, which would end the body as if it were whole
    controller.close()
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(idleTimer)
        try {
          const { bytes, isDone } = await source.next()
          if (isOver) return
          if (bytes !== undefined && bytes.length > 0) controller.enqueue(bytes)
          if (isDone) return controller.close()
          idleTimer = setTimeout(() => {
            source.stop().catch(options.onFault)
            end(controller)
          }, options.writeIdleMs)
        } catch (error) {
          if (isOver) return // the source failed because it was stopped
          options.onFault(error)
          end(controller)
        }
      },
      async cancel() {
        isOver = true
        clearTimeout(idleTimer)
        await source.stop()
        options.onHangUp()
      },
    },
    { highWaterMark: 1 },
  )
}

/** Makes a body of chunks of bytes. */
export function byteStream(
  source: AsyncIterator<Uint8Array>,
  options: StreamOptions,
): ReadableStream<Uint8Array> {
  const next = async () => {
    const step = await source.next()
    return step.done === true ? { bytes: undefined, isDone: true } : { bytes: step.value, isDone: false }
  }
  return bodyStream({ next, stop: async () => await source.return?.() }, options)
}
