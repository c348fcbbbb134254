export interface StreamOptions {
  requestId: string
  /** ends the stream when the client reads nothing for so long, ms */
  writeIdleMs: number
  /** told of a fault after the first byte: the body ends early, the client sees a broken transfer */
  onFault(error: unknown): void
  /** told when the client hung up before the end, once the source is closed */
  onHangUp(): void
  /** cuts the connection: the only way to tell a client that a begun body is not whole */
  breakOff(): void
}

/** Where the bytes of a body come from, a piece at a time. */
export interface BodySource {
  next(): Promise<{ bytes: Uint8Array | undefined; isDone: boolean }>
  /** nobody wants the rest */
  stop(): Promise<unknown>
}

/** A body that is made while it is sent: a client that stops reading stops the source, one that hangs up ends it. */
export function bodyStream(source: BodySource, options: StreamOptions): ReadableStream<Uint8Array> {
  let idleTimer: NodeJS.Timeout | undefined
  let isOver = false // a client can hang up while a piece is being made for it
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
          if (isOver) return // nobody is there to be told, and the work was stopped for that reason
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

/** The same of bytes that come as they are. */
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
