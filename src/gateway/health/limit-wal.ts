import { stat } from 'node:fs/promises'
import { AppError } from '../../errors.js'
import type { Log } from '../../log.js'
import type { ReaderPool } from '../../worker/reader-pool.js'

interface WalLimitOptions {
  readonly readers: Pick<ReaderPool, 'endOldest'>
  /** write-ahead log of the database that the readers read */
  readonly file: string
  /** size up to which it may grow */
  readonly maxBytes: number
  /** age below which no answer is ended, ms */
  readonly slowMs: number
  readonly log: Log
}

/** Time between two checks of the size of the log. */
const EVERY_MS = 5000

/**
 * Keeps slow readers from growing the write-ahead log without end: an answer that is read slowly but steadily
 * keeps its state of the tables, and SQLite cannot reuse the log from there on. Checks every few seconds.
 *
 * @returns function that ends the checks
 */
export function limitWal(options: WalLimitOptions): () => void {
  const look = createWalLook(options)
  const timer = setInterval(() => void look(), EVERY_MS).unref()
  return () => clearInterval(timer)
}

/**
 * Creates one check of the log. It ends the oldest answer when the log is too large and has grown since an
 * answer was ended last: without a writer, ending another answer would not make the log smaller.
 */
export function createWalLook({
  readers,
  file,
  maxBytes,
  slowMs,
  log,
}: WalLimitOptions): () => Promise<void> {
  let sizeAtEnd = 0
  return async () => {
    const walBytes = await sizeOf(file)
    if (walBytes <= maxBytes) sizeAtEnd = 0
    if (walBytes <= Math.max(maxBytes, sizeAtEnd)) return
    const message = `The answer was read for more than ${slowMs} ms while the log of the database grew to ${walBytes} bytes (reads.walBytes): read it faster, or in parts by limit and offset`
    const ageMs = readers.endOldest(slowMs, new AppError('TIME_LIMIT', { limitMs: slowMs }, { message }))
    if (ageMs === undefined) return
    sizeAtEnd = walBytes
    log.warn(
      { walBytes, ageMs: Math.round(ageMs) },
      'a slow answer was ended: it kept the log from being reused',
    )
  }
}

/** Size of a file; 0 while there is none. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch {
    return 0 // readiness reports a log that is gone
  }
}
