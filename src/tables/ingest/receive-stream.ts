import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { addCounters, NO_ROWS, toCounters } from '../../api/dataloader/counters.js'
import { IfExistsOption } from '../../api/dataloader/schema.js'
import { AppError, isAppError, messageOf } from '../../errors.js'
import type { Counters } from '../../storage/tables.js'
import type { Loader, PutTarget } from '../loader.js'
import { createLineSplitter, type LineSplitter, type NumberedBatch, type SplitLimits } from './split-lines.js'

export interface StreamRequest {
  dataName: string
  /** as sent; `skip` when absent */
  ifExists: string | undefined
  /** said to be gzip; what begins as gzip does is unpacked anyway */
  isGzip: boolean
  chunks: AsyncIterable<Uint8Array>
  signal: AbortSignal
}

/** A batch that is not full is stored after so much silence, so that a slow feed is not kept waiting, ms. */
const IDLE_FLUSH_MS = 1000
/** Lines of a batch may be long: it is cut at so many bytes. */
const BATCH_BYTES = 8 * 1024 * 1024
/** So much may come out of gzip before its ratio is looked at: a short stream of likenesses packs well. */
const FREE_BYTES = 16 * 1024 * 1024

export type StreamLimits = Omit<SplitLimits, 'batchBytes'> & {
  /** most bytes that each byte of a gzip stream may become */
  gzipRatio: number
}

/** The answer: the counters of `add_record`, and how far the stream came. */
export type StreamResult = ReturnType<typeof toCounters> & { last_line: number }

/**
 * Stores the features of a stream: newline-delimited GeoJSON, RFC 8142 sequences, or either in gzip. Batches are cut
 * here and parsed and stored by the job worker, one while the next is read; memory does not grow with the stream.
 *
 * @throws AppError of the fault, with `line`, `last_committed_line` (all up to it are stored, the rest is not) and the
 *   counters in `data`: a caller resumes behind that line
 */
export async function receiveStream(
  loader: Loader,
  request: StreamRequest,
  limits: StreamLimits,
): Promise<StreamResult> {
  const target: PutTarget = {
    table: loader.find(request.dataName),
    ifExists: readIfExists(request.ifExists),
    signal: request.signal,
  }
  const progress: Progress = { counters: NO_ROWS, lastLine: 0 }
  const splitter = createLineSplitter({ ...limits, batchBytes: BATCH_BYTES })
  const store = async (batch: NumberedBatch) => {
    try {
      const counters = await loader.addLines(target, batch)
      progress.counters = addCounters(progress.counters, counters)
      progress.lastLine = batch.lastLine
    } catch (error) {
      throw atLine(error, batch.firstLine)
    }
  }
  try {
    await feed(unpacked(request.chunks, request.isGzip, limits.gzipRatio), splitter, store)
  } catch (error) {
    throw withProgress(toAppError(error, splitter), progress)
  }
  return { ...toCounters(progress.counters), last_line: progress.lastLine }
}

/** What is certain at any moment. */
interface Progress {
  counters: Counters
  lastLine: number
}

/** Reads on while a batch is being stored, but never more than one batch ahead. */
async function feed(
  chunks: AsyncIterable<Uint8Array>,
  splitter: LineSplitter,
  store: (batch: NumberedBatch) => Promise<void>,
): Promise<void> {
  const source = chunks[Symbol.asyncIterator]()
  let storing: Promise<void> = Promise.resolve()
  const storeNext = async (batch: NumberedBatch | undefined) => {
    await storing
    if (batch === undefined) return
    storing = store(batch)
    storing.catch(() => undefined) // it is awaited before the next batch and at the end
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
        next = source.next()
      }
    }
  } catch (error) {
    await storing.catch(() => undefined) // what is under way counts, or is the fault itself
    throw error
  } finally {
    void source.return?.() // not awaited: it may have to wait for a chunk that never comes
  }
}

/** The next chunk, or word of a second without one; throws as soon as the batch that is being stored fails. */
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

/** gzip's first byte; no text begins with it */
const GZIP_MAGIC = 0x1f

/** The bytes as text would have them; gzip is told by the caller or by itself. */
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
    pipeline(Readable.from(whole), gunzip, () => undefined) // a fault comes out of `gunzip`
    let total = 0
    for await (const piece of gunzip as AsyncIterable<Uint8Array>) {
      total += piece.byteLength
      if (total > FREE_BYTES && total > gunzip.bytesWritten * maxRatio) throw swells(maxRatio)
      yield piece
    }
  }
}

/** A few compressed kilobytes can be gigabytes of blank lines. */
function swells(maxRatio: number): AppError {
  const message = `The gzip stream becomes more than ${maxRatio} times as long (limits.gzipRatio)`
  return new AppError('BODY_TOO_LARGE', { maxRatio }, { message })
}

/** A source whose first chunk was read already. */
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

function readIfExists(text: string | undefined) {
  const parsed = IfExistsOption.safeParse(text)
  if (parsed.success) return parsed.data
  const message = `if_exists: found ${JSON.stringify(text?.slice(0, 40))}, expected override, skip or error`
  throw new AppError('INVALID_PARAMS', { faults: [{ path: '$.if_exists', message }] }, { message })
}

/** The job worker counts lines within its batch. */
function atLine(error: unknown, firstLine: number): unknown {
  if (!isAppError(error) || typeof error.data.line !== 'number') return error
  const line = firstLine + error.data.line
  return new AppError(error.errorName, { ...error.data, line }, { message: `line ${line}: ${error.message}` })
}

/** Faults of the splitter and of zlib as faults of the line at which they struck. */
function toAppError(error: unknown, splitter: LineSplitter): unknown {
  const isDamagedGzip = error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
  if (!isDamagedGzip && !(error instanceof RangeError)) return error
  const line = splitter.line()
  const reason = isDamagedGzip ? `found gzip data that is damaged (${messageOf(error)})` : messageOf(error)
  return new AppError('BAD_RECORD', { line, column: null, reason }, { message: `line ${line}: ${reason}` })
}

/** Every fault tells how far the stream came, whatever ended it. */
function withProgress(error: unknown, { counters, lastLine }: Progress): unknown {
  if (!isAppError(error)) return error
  const { message: _, ...counts } = toCounters(counters)
  const stored = lastLine === 0 ? 'nothing is stored' : `lines up to ${lastLine} are stored`
  return new AppError(
    error.errorName,
    { ...error.data, last_committed_line: lastLine, ...counts },
    { message: `${error.message}; ${stored}`, cause: error.cause },
  )
}
