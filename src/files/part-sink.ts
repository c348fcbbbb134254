import { AppError } from '../errors.js'
import type { Digester } from './blob-store.js'
import type { PartWriter } from './part-files.js'

/** Bytes written between two commits of the offset: what a power cut makes the other side send again. */
const COMMIT_BYTES = 8 * 1024 * 1024
/** On a slow link an offset is committed at least this often. */
const COMMIT_MS = 5000
/** Small chunks are gathered to this size before they are written. */
const WRITE_BYTES = 256 * 1024

export interface SinkOptions {
  writer: PartWriter
  /** follows every byte that is kept; undefined when the digests will be made by reading the file */
  digester: Digester | undefined
  offsetBytes: number
  /** where the part must end */
  sizeBytes: number
  /** records that everything before an offset is on disk */
  commit(offsetBytes: number): Promise<void>
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
}

/**
 * Appends what comes to a part. An offset is committed only after fsync. When the source fails, what came before is
 * flushed and committed first, so that nothing has to be sent twice.
 *
 * @returns the new offset
 * @throws what the source throws; AppError BODY_TOO_LARGE beyond `sizeBytes`, DISK_FULL
 */
export async function appendToPart(source: AsyncIterable<Uint8Array>, options: SinkOptions): Promise<number> {
  const { writer, digester, sizeBytes } = options
  let offset = options.offsetBytes
  let committed = offset
  let committedAtMs = performance.now()
  let held: Uint8Array[] = []
  let heldBytes = 0
  const flush = async () => {
    if (heldBytes === 0) return
    await options.requireSpace(heldBytes)
    await writer.write(held)
    for (const chunk of held) digester?.update(chunk)
    offset += heldBytes
    held = []
    heldBytes = 0
  }
  const commit = async () => {
    if (offset === committed) return
    await writer.sync()
    await options.commit(offset)
    committed = offset
    committedAtMs = performance.now()
  }
  try {
    for await (const chunk of source) {
      if (offset + heldBytes + chunk.byteLength > sizeBytes) throw tooLong(sizeBytes)
      held.push(chunk)
      heldBytes += chunk.byteLength
      const isLate = performance.now() - committedAtMs > COMMIT_MS
      if (heldBytes >= WRITE_BYTES || isLate) await flush()
      if (offset - committed >= COMMIT_BYTES || isLate) await commit()
    }
  } catch (error) {
    await flush()
    await commit()
    throw error
  }
  await flush()
  await commit()
  return offset
}

function tooLong(sizeBytes: number): AppError {
  return new AppError(
    'BODY_TOO_LARGE',
    { sizeBytes },
    { message: `Found more than the ${sizeBytes} bytes announced` },
  )
}
