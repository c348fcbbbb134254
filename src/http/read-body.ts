import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.js'
import { type HttpContext, headerOf } from './env.js'

export interface BodyLimits {
  maxBytes: number
  /** silence allowed between two chunks, ms */
  idleMs: number
  /** from the first read of the body to its end, ms; undefined for no limit */
  totalMs?: number
}

/**
 * Reads the chunks of a body within its limits.
 *
 * @throws AppError BODY_TOO_LARGE, by Content-Length before the first byte or once the limit is exceeded;
 *   BODY_TIMEOUT after `idleMs` of silence; CANCELLED when the client hangs up
 */
export async function* bodyChunks(c: HttpContext, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const declared = Number(headerOf(c, 'content-length') ?? 0)
  if (declared > limits.maxBytes) throw tooLarge(declared, limits.maxBytes)
  continueIfAsked(c)
  const source = sourceOf(c)[Symbol.asyncIterator]()
  const endsAtMs = performance.now() + (limits.totalMs ?? Number.POSITIVE_INFINITY)
  let total = 0
  try {
    for (;;) {
      const step = await withTimeout(source.next(), limits.idleMs)
      if (step.done === true) return
      if (performance.now() > endsAtMs) throw tooSlow(limits)
      total += step.value.byteLength
      if (total > limits.maxBytes) throw tooLarge(total, limits.maxBytes)
      yield step.value
    }
  } catch (error) {
    throw error instanceof AppError ? error : new AppError('CANCELLED', {}, { cause: error })
  }
}

/** Reads a body as a whole. @throws AppError as `bodyChunks` does */
export async function readBody(c: HttpContext, limits: BodyLimits): Promise<Uint8Array> {
  const { incoming } = c.env ?? {}
  if (incoming === undefined) return Buffer.concat(await Array.fromAsync(bodyChunks(c, limits)))
  const declared = Number(headerOf(c, 'content-length') ?? 0)
  if (declared > limits.maxBytes) throw tooLarge(declared, limits.maxBytes)
  continueIfAsked(c)
  if (declared > 0 && incoming.readableLength === declared) return arrived(incoming)
  return await collect(incoming, limits)
}

/** Takes a body that is here as a whole, as small ones are that came with their headers: without a timer and events. */
function arrived(incoming: IncomingMessage): Uint8Array {
  const body: Buffer = incoming.read()
  incoming.resume() // to its end, which is no byte
  return body
}

/** Collects a body by events: a third of the cost of an iterator with a timer for each chunk. */
function collect(incoming: IncomingMessage, limits: BodyLimits): Promise<Uint8Array> {
  const { maxBytes, idleMs, totalMs = Number.POSITIVE_INFINITY } = limits
  return new Promise((resolve, reject) => {
    const endsAtMs = performance.now() + totalMs
    const chunks: Buffer[] = []
    let total = 0
    const end = (settle: () => void) => {
      clearTimeout(timer)
      incoming.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
      settle()
    }
    const refuse = (error: AppError) =>
      end(() => {
        incoming.pause()
        reject(error)
      })
    const timer = setTimeout(() => end(() => reject(silent(idleMs))), idleMs)
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      total += chunk.byteLength
      if (total > maxBytes) refuse(tooLarge(total, maxBytes))
      else if (performance.now() > endsAtMs) refuse(tooSlow(limits))
      else if (chunks.length > 1) timer.refresh()
    }
    const onEnd = () =>
      end(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    const onBroken = (cause?: unknown) => end(() => reject(new AppError('CANCELLED', {}, { cause })))
    incoming.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
  })
}

/** Requires a content type of JSON in UTF-8, not encoded. @throws AppError UNSUPPORTED_MEDIA_TYPE */
export function requireJson(c: HttpContext): void {
  const type = headerOf(c, 'content-type') ?? ''
  const isJson =
    /^application\/(json|json-rpc|jsonrequest|geo\+json)\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i.test(type)
  if (!isJson) {
    const found = type === '' ? 'none' : type.slice(0, 100)
    throw new AppError(
      'UNSUPPORTED_MEDIA_TYPE',
      {},
      { message: `Content-Type: found ${found}, expected application/json` },
    )
  }
  refuseEncoding(c)
}

/**
 * Refuses an encoded body: a few compressed bytes can become gigabytes.
 *
 * @throws AppError UNSUPPORTED_MEDIA_TYPE
 */
export function refuseEncoding(c: HttpContext): void {
  const encoding = headerOf(c, 'content-encoding') ?? 'identity'
  if (encoding.toLowerCase() === 'identity') return
  const message = `Content-Encoding: found ${encoding.slice(0, 100)}, expected none`
  throw new AppError('UNSUPPORTED_MEDIA_TYPE', {}, { message })
}

/**
 * Answers `Expect: 100-continue`. Called before the body is read, so that a refused call never sends its
 * body.
 */
export function continueIfAsked(c: HttpContext): void {
  const isAsked = headerOf(c, 'expect')?.toLowerCase() === '100-continue'
  if (isAsked && c.env?.outgoing?.headersSent === false) c.env.outgoing.writeContinue()
}

/** Returns the chunks of Node's request, or of the web's in tests without a socket. */
function sourceOf(c: HttpContext): AsyncIterable<Uint8Array> {
  const { incoming } = c.env ?? {}
  if (incoming !== undefined) return incoming.iterator({ destroyOnReturn: false })
  return (c.req.raw.body ?? new Blob([]).stream()) as unknown as AsyncIterable<Uint8Array>
}

async function withTimeout<T>(promise: Promise<T>, idleMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(silent(idleMs)), idleMs)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}

function silent(idleMs: number): AppError {
  const message = `No byte of the body arrived for ${idleMs} ms (limits.bodyIdleMs)`
  return new AppError('BODY_TIMEOUT', { idleMs }, { message })
}

function tooSlow({ totalMs }: BodyLimits): AppError {
  const message = `The body took longer than ${totalMs} ms (limits.bodyMs)`
  return new AppError('BODY_TIMEOUT', { totalMs }, { message })
}

function tooLarge(found: number, maxBytes: number): AppError {
  const message = `The body has ${found} bytes or more, expected at most ${maxBytes}`
  return new AppError('BODY_TOO_LARGE', { maxBytes }, { message })
}
