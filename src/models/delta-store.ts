import { createReadStream, mkdirSync } from 'node:fs'
import { open, readdir, rm, stat, utimes } from 'node:fs/promises'
import path from 'node:path'
import { AppError, isAppError, messageOf } from '../errors.js'
import { type BlobStore, digestOf, ifThere } from '../files/blob-store.js'
import type { DeltaWork } from './delta/jobs.js'
import type { Pins } from './pins.js'

/** Two stored files by digest, hex. */
export interface DeltaPair {
  readonly base: string
  readonly next: string
}

/** A delta on disk. */
export interface StoredDelta extends DeltaPair {
  /** digest of the delta itself, hex */
  readonly sha256: string
  readonly sizeBytes: number
  /** Opens the bytes from `start` to the end of the range. @throws Error if the file was removed */
  open(range: { start: number; end: number }): Promise<AsyncIterableIterator<Uint8Array>>
}

/** Deltas of stored models. They are kept for a while, so that a cut transfer goes on with the same bytes. */
export interface DeltaStore {
  /** smallest file for which a delta is made, bytes */
  readonly minBytes: number
  /** Returns a delta that is on disk. */
  find(pair: DeltaPair): Promise<StoredDelta | undefined>
  /**
   * Makes a delta, or returns the one on disk. Deltas are made one after the other; callers of the same pair
   * share one.
   *
   * @param signal ends the waiting; the delta is made to its end, for the next attempt
   * @throws AppError BAD_DELTA when it would save too little; UNKNOWN_MODEL when a file is missing; BUSY,
   *   DISK_FULL, CANCELLED
   */
  make(pair: DeltaPair, signal: AbortSignal): Promise<StoredDelta>
  /** Removes a delta that is no longer needed. */
  remove(pair: DeltaPair): Promise<void>
  /** Removes the deltas that nobody has used since. Returns their number; a download that reads one goes on. */
  expire(beforeMs: number): Promise<number>
  /** Stops the making, and waits until it has ended. */
  close(): Promise<void>
}

interface DeltaStoreDeps {
  /** directory of the deltas alone */
  dir: string
  blobs: BlobStore
  pins: Pins
  work: DeltaWork
  minBytes: number
  /** largest size of all deltas on disk */
  maxBytes: number
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
}

/** A delta has to save at least this share of the file: its making and applying cost time. */
const MIN_SAVED_SHARE = 1 / 16
/** Deltas that may wait to be made; one more is refused. */
const MAX_WAITING = 8
/** Pairs whose delta would save too little that are remembered. */
const MAX_REMEMBERED = 1000

interface Engine extends DeltaStoreDeps {
  /** key → delta that is being made */
  making: Map<string, Promise<StoredDelta>>
  /** key → why it is not made again */
  useless: Map<string, string>
  /** path → facts that were computed since the start */
  known: Map<string, { sha256: string; sizeBytes: number }>
  /** end of the last delta in the queue */
  tail: Promise<unknown>
  closing: AbortController
}

/** Opens the deltas of a directory, which is created if needed. */
export async function openDeltaStore(deps: DeltaStoreDeps): Promise<DeltaStore> {
  mkdirSync(deps.dir, { recursive: true, mode: 0o700 })
  for (const name of await readdir(deps.dir)) if (!isDelta(name)) await rm(path.join(deps.dir, name))
  const engine: Engine = {
    ...deps,
    making: new Map(),
    useless: new Map(),
    known: new Map(),
    tail: Promise.resolve(),
    closing: new AbortController(),
  }
  return {
    minBytes: deps.minBytes,
    find: (pair) => find(engine, pair),
    make: (pair, signal) => unless(signal, make(engine, pair)),
    async remove(pair) {
      engine.known.delete(fileOf(engine, pair))
      await rm(fileOf(engine, pair), { force: true })
    },
    expire: (beforeMs) => expire(engine, beforeMs),
    async close() {
      engine.closing.abort(new AppError('CANCELLED'))
      await Promise.allSettled(engine.making.values())
    },
  }
}

const keyOf = ({ base, next }: DeltaPair) => `${base}-${next}`
const isDelta = (name: string) => /^[0-9a-f]{64}-[0-9a-f]{64}\.delta$/.test(name)

function fileOf({ dir }: Engine, pair: DeltaPair): string {
  return path.join(dir, `${keyOf(pair)}.delta`)
}

async function find(engine: Engine, pair: DeltaPair): Promise<StoredDelta | undefined> {
  const file = fileOf(engine, pair)
  const found = await ifThere(stat(file))
  if (found === undefined) return undefined
  const known = engine.known.get(file)
  const facts = known?.sizeBytes === found.size ? known : await digestOf(createReadStream(file))
  const { sha256, sizeBytes } = facts
  engine.known.set(file, { sha256, sizeBytes })
  const now = new Date()
  await ifThere(utimes(file, now, now)) // the one that was used last is removed last
  return { ...pair, sha256, sizeBytes, open: (range) => openRange(file, range) }
}

async function make(engine: Engine, pair: DeltaPair): Promise<StoredDelta> {
  const key = keyOf(pair)
  const running = engine.making.get(key)
  if (running !== undefined) return await running
  const reason = engine.useless.get(key)
  if (reason !== undefined) throw new AppError('BAD_DELTA', {}, { message: reason })
  if (engine.making.size > MAX_WAITING) throw new AppError('BUSY', { retryAfterS: 10 })
  const made = engine.tail.then(async () => (await find(engine, pair)) ?? (await makeFile(engine, pair)))
  engine.tail = made.catch(() => undefined) // its callers get the error
  engine.making.set(key, made)
  try {
    return await made
  } catch (error) {
    if (isAppError(error) && error.errorName === 'BAD_DELTA') remember(engine, key, error.message)
    throw error
  } finally {
    engine.making.delete(key)
  }
}

async function makeFile(engine: Engine, pair: DeltaPair): Promise<StoredDelta> {
  const { blobs, pins, work, closing, log } = engine
  const unpins = await Promise.all([pins.pin(pair.base), pins.pin(pair.next)])
  try {
    const [base, next, size] = await Promise.all([
      blobs.localFile(pair.base),
      blobs.localFile(pair.next),
      blobs.stat(pair.next),
    ])
    if (base === undefined || next === undefined || size === undefined)
      throw new AppError('UNKNOWN_MODEL', {}, { message: 'Found no bytes of the base, or of the model' })
    const maxBytes = Math.min(Math.floor(size.sizeBytes * (1 - MIN_SAVED_SHARE)), engine.maxBytes)
    await engine.requireSpace(maxBytes)
    const startMs = performance.now()
    const files = {
      base: { path: base, sha256: pair.base },
      next: { path: next, sha256: pair.next },
      output: fileOf(engine, pair),
      maxBytes,
    }
    const bytes = await work.make(files, closing.signal)
    const ms = Math.round(performance.now() - startMs)
    log.info({ base: pair.base, model: pair.next, bytes, of: size.sizeBytes, ms }, 'delta made')
  } finally {
    for (const unpin of unpins) unpin()
  }
  await removeOldest(engine, fileOf(engine, pair))
  const made = await find(engine, pair)
  if (made === undefined) throw new Error('the delta was removed as soon as it was made')
  return made
}

function remember({ useless }: Engine, key: string, reason: string): void {
  const [first] = useless.keys()
  if (useless.size >= MAX_REMEMBERED && first !== undefined) useless.delete(first)
  useless.set(key, reason)
}

/** Removes the deltas that were used longest ago until the others fit. */
async function removeOldest(engine: Engine, kept: string): Promise<void> {
  const files = await listFiles(engine)
  let total = files.reduce((sum, { size }) => sum + size, 0)
  for (const { file, size } of files.sort((a, b) => a.usedAtMs - b.usedAtMs)) {
    if (total <= engine.maxBytes) return
    if (file !== kept && (await removeOld(engine, file))) total -= size
  }
}

async function expire(engine: Engine, beforeMs: number): Promise<number> {
  let count = 0
  for (const { file, usedAtMs } of await listFiles(engine))
    if (usedAtMs < beforeMs && (await removeOld(engine, file))) count++
  return count
}

async function listFiles({ dir }: Engine): Promise<{ file: string; size: number; usedAtMs: number }[]> {
  const files: { file: string; size: number; usedAtMs: number }[] = []
  for (const name of await readdir(dir)) {
    const file = path.join(dir, name)
    const found = isDelta(name) ? await ifThere(stat(file)) : undefined
    if (found !== undefined) files.push({ file, size: found.size, usedAtMs: found.mtimeMs })
  }
  return files
}

/** Returns whether the file is gone; a fault is logged. */
async function removeOld({ known, log }: Engine, file: string): Promise<boolean> {
  try {
    await rm(file, { force: true })
    known.delete(file)
    return true
  } catch (error) {
    log.warn({ file, reason: messageOf(error) }, 'an old delta cannot be removed')
    return false
  }
}

/** Opens the file before it returns: from then on its bytes stay, also when it is removed. */
async function openRange(
  file: string,
  { start, end }: { start: number; end: number },
): Promise<AsyncIterableIterator<Uint8Array>> {
  const handle = await open(file, 'r')
  if (start >= end) {
    await handle.close()
    return (async function* (): AsyncGenerator<Uint8Array> {
      yield* []
    })()
  }
  const stream = handle.createReadStream({ start, end: end - 1 })
  const chunks = stream[Symbol.asyncIterator]()
  const opened: AsyncIterableIterator<Uint8Array> = {
    next: () => chunks.next(),
    async return() {
      stream.destroy() // closes the handle, also before the first read
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => opened,
  }
  return opened
}

/** Waits for work unless a signal ends the waiting. */
async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
    work.catch(() => undefined) // the next caller gets its error
  }
}
