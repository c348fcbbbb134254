import { AppError } from '../errors.js'
import type { Digester } from './blob-store.js'
import type { PartWriter } from './part-files.js'

/** Bytes between two commits of the offset; a power cut loses at most these, and the sender repeats them. */
const COMMIT_BYTES = 8 * 1024 * 1024
/** Longest time between two commits on a slow link. */
const COMMIT_MS = 5000
/** Small chunks are gathered to this size before they are written. */
const WRITE_BYTES = 256 * 1024

/** Destination of appended bytes. */
export interface PartSink {
  writer: PartWriter
  /** follows every byte that is kept; undefined if the digests are computed from the file later */
  digester: Digester | undefined
  /** offset at which `writer` stands */
  offsetBytes: number
  /** size of the complete part */
  sizeBytes: number
  /** records that the bytes before an offset are on disk */
  commit(offsetBytes: number): Promise<void>
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
}

/**
 * Appends a source to a part. An offset is committed only after fsync. If the source fails, the bytes before
 * the failure are written and committed first, so that nothing has to be sent twice.
 *
 * @returns the new offset
 * @throws whatever the source throws; AppError BODY_TOO_LARGE beyond `sizeBytes`, DISK_FULL
 */
export async function appendToPart(source: AsyncIterable<Uint8Array>, sink: PartSink): Promise<number> {
  const appender = createAppender(sink)
  try {
    for await (const chunk of source) await appender.add(chunk)
  } catch (error) {
    await appender.flush()
    throw error
  }
  return await appender.flush()
}

function createAppender({ writer, digester, offsetBytes, sizeBytes, commit, requireSpace }: PartSink) {
  let written = offsetBytes
  let committed = offsetBytes
  let committedAtMs = performance.now()
  let held: Uint8Array[] = []
  let heldBytes = 0
  const write = async () => {
    if (heldBytes === 0) return
    await requireSpace(heldBytes)
    await writer.write(held)
    for (const chunk of held) digester?.update(chunk)
    written += heldBytes
    held = []
    heldBytes = 0
  }
  const commitWritten = async () => {
    if (written === committed) return
    await writer.sync()
    await commit(written)
    committed = written
    committedAtMs = performance.now()
  }
  return {
    async add(chunk: Uint8Array) {
      if (written + heldBytes + chunk.byteLength > sizeBytes) throw tooLong(sizeBytes)
      held.push(chunk)
      heldBytes += chunk.byteLength
      const isLate = performance.now() - committedAtMs > COMMIT_MS
      if (heldBytes >= WRITE_BYTES || isLate) await write()
      if (written - committed >= COMMIT_BYTES || isLate) await commitWritten()
    },
    /** Writes and commits the held bytes. Returns the offset behind them. */
    async flush() {
      await write()
      await commitWritten()
      return written
    },
  }
}

function tooLong(sizeBytes: number): AppError {
  return new AppError(
    'BODY_TOO_LARGE',
    { sizeBytes },
    { message: `Found more than the ${sizeBytes} bytes announced` },
  )
}
