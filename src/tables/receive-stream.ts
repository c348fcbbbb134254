import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AppError, invalidParams, isAppError, messageOf } from '../errors.js'
import { addCounters, NO_RECORDS } from '../storage/counters.js'
import { type Counters, IF_EXISTS, type IfExists } from '../storage/tables.js'
import {
  createLineSplitter,
  type LineSplitter,
  type NumberedBatch,
  type SplitLimits,
} from './ingest/split-lines.js'
import type { Loader, PutTarget } from './loader.js'

/** A stream of features for one table. */
export interface StreamRequest {
  readonly dataName: string
  /** unchecked; `skip` when absent */
  readonly ifExists: string | undefined
  /** declared as gzip; bytes that begin as gzip does are decompressed in any case */
  readonly isGzip: boolean
  readonly chunks: AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
  /** key that sends it */
  readonly owner: string
  /** waits until so many bytes may be held. @throws AppError BUSY, CANCELLED */
  hold(bytes: number): Promise<void>
}

/** Silence after which a batch is stored before it is full, so that a slow feed does not wait, ms. */
const IDLE_FLUSH_MS = 1000
/** Size at which a batch is cut however few lines it has. */
const BATCH_BYTES = 2 * 1024 * 1024
/** Bytes that are read while a batch is stored. */
const AHEAD_BYTES = BATCH_BYTES
/** Decompressed bytes before the ratio is checked: a short stream of similar records compresses well. */
const FREE_BYTES = 16 * 1024 * 1024

/** Limits of a stream. */
export type StreamLimits = Omit<SplitLimits, 'batchBytes'> & {
  /** most decompressed bytes per byte of a gzip stream */
  readonly gzipRatio: number
}

/** Result of a stream, however it ended. */
export interface StreamOutcome {
  readonly counters: Counters
  /** all lines up to this one are stored, later ones are not; 0 for none. Lines count from 1 */
  readonly lastLine: number
  /**
   * the error that ended the stream, with `data.line` where a line caused it; undefined when all is stored
   */
  readonly fault: unknown
}

/**
 * Stores the features of a stream: newline-delimited GeoJSON, RFC 8142 sequences, or either in gzip. Batches
 * are cut here, and parsed and stored by the job thread, one while the next is read; memory does not grow
 * with the stream.
 *
 * @throws AppError UNKNOWN_TABLE, INVALID_PARAMS; later errors are part of the outcome
 */
export async function receiveStream(
  loader: Loader,
  request: StreamRequest,
  limits: StreamLimits,
): Promise<StreamOutcome> {
  const target: PutTarget = {
    table: await loader.find(request.dataName),
    ifExists: readIfExists(request.ifExists),
    signal: request.signal,
    owner: request.owner,
  }
  let counters = NO_RECORDS
  let lastLine = 0
  const splitter = createLineSplitter({ ...limits, batchBytes: BATCH_BYTES })
  const store = async (batch: NumberedBatch) => {
    try {
      counters = addCounters(counters, await loader.addLines(target, batch))
      lastLine = batch.lastLine
    } catch (error) {
      throw atLine(error, batch.firstLine)
    }
  }
  try {
    const chunks = unpacked(request.chunks, request.isGzip, limits.gzipRatio)
    await feed(chunks, splitter, { store, hold: (bytes) => request.hold(bytes) })
    return { counters, lastLine, fault: undefined }
  } catch (error) {
    return { counters, lastLine, fault: toAppError(error, splitter) }
  }
}

/** Reads ahead while a batch is being stored, but never more than one batch. */
async function feed(
  chunks: AsyncIterable<Uint8Array>,
  splitter: LineSplitter,
  { store, hold }: { store(batch: NumberedBatch): Promise<void>; hold(bytes: number): Promise<void> },
): Promise<void> {
  const source = chunks[Symbol.asyncIterator]()
  let storing: Promise<void> = Promise.resolve()
  let storingBytes = 0
  const storeNext = async (batch: NumberedBatch | undefined) => {
    await storing
    storingBytes = batch?.bytes.length ?? 0
    if (batch === undefined) return
    storing = store(batch)
    storing.catch(() => undefined) // awaited before the next batch and at the end
  }
  try {
    for (let next = source.next(); ; ) {
      const step = await firstOf(next, storing)
      if (step === 'silence') {
        await storeNext(splitter.flush())
      } else if (step.done === true) {
        await storeNext(splitter.end())
        return await storing
      } else {
        for (const batch of splitter.push(step.value)) await storeNext(batch)
        const held = splitter.heldBytes()
        if (held > AHEAD_BYTES) await storeNext(undefined) // no large line is read while another is stored
        await hold(held + storingBytes)
        next = source.next()
      }
    }
  } catch (error) {
    await storing.catch(() => undefined) // a batch that is being stored counts, or is the fault itself
    throw error
  } finally {
    void source.return?.() // not awaited: it may wait for a chunk that never comes
  }
}

/**
 * Waits for the next chunk or for `IDLE_FLUSH_MS` without one; throws as soon as the batch being stored
 * fails.
 */
async function firstOf(
  next: Promise<IteratorResult<Uint8Array>>,
  storing: Promise<void>,
): Promise<IteratorResult<Uint8Array> | 'silence'> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<'silence'>((resolve) => {
    timer = setTimeout(() => resolve('silence'), IDLE_FLUSH_MS)
  })
  const failure = new Promise<never>((_, reject) => {
    storing.catch(reject)
  })
  try {
    return await Promise.race([next, silence, failure])
  } finally {
    clearTimeout(timer)
  }
}

/** first byte of gzip data; text cannot begin with it */
const GZIP_MAGIC = 0x1f

/** Decompresses the bytes where the caller or their first byte says that they are gzip. */
async function* unpacked(
  chunks: AsyncIterable<Uint8Array>,
  isGzip: boolean,
  maxRatio: number,
): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]()
  const first = await source.next()
  const whole = resume(first, source)
  if (!isGzip && first.value?.[0] !== GZIP_MAGIC) yield* whole
  else if (first.done !== true) {
    const gunzip = createGunzip()
    pipeline(Readable.from(whole), gunzip, () => undefined) // `gunzip` reports the error
    let total = 0
    for await (const piece of gunzip as AsyncIterable<Uint8Array>) {
      total += piece.byteLength
      if (total > FREE_BYTES && total > gunzip.bytesWritten * maxRatio) throw tooLarge(maxRatio)
      yield piece
    }
  }
}

/** A few compressed kilobytes can be gigabytes of blank lines. */
function tooLarge(maxRatio: number): AppError {
  const message = `The gzip stream decompresses to more than ${maxRatio} times its size (limits.gzipRatio)`
  return new AppError('BODY_TOO_LARGE', { maxRatio }, { message })
}

/** Returns a source with the chunk that was read from it in front. */
async function* resume(
  first: IteratorResult<Uint8Array>,
  source: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let step = first; step.done !== true; step = await source.next()) yield step.value
  } finally {
    void source.return?.()
  }
}

function readIfExists(text: string | undefined): IfExists {
  const found = IF_EXISTS.find((name) => name === (text ?? 'skip'))
  if (found !== undefined) return found
  const message = `found ${JSON.stringify(text?.slice(0, 40))}, expected ${IF_EXISTS.join(', ')}`
  throw invalidParams([{ path: '$.if_exists', message }])
}

/** Counts a line of a batch as a line of the stream. */
function atLine(error: unknown, firstLine: number): unknown {
  if (!isAppError(error) || typeof error.data.line !== 'number') return error
  const line = firstLine + error.data.line
  const message = `line ${line}: ${error.message}`
  return new AppError(error.errorName, { ...error.data, line }, { message, cause: error.cause })
}

/** Returns errors of the splitter and of zlib as errors of the line that was being read. */
function toAppError(error: unknown, splitter: LineSplitter): unknown {
  const isDamagedGzip = error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
  if (!isDamagedGzip && !(error instanceof RangeError)) return error
  const line = splitter.line()
  const reason = isDamagedGzip
    ? `found damaged gzip data (${messageOf(error)}), expected a whole gzip stream`
    : messageOf(error)
  return new AppError('BAD_RECORD', { line, column: null, reason }, { message: `line ${line}: ${reason}` })
}
