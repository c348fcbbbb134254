import { randomUUID } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '../errors.js'
import type { HttpContext } from './env.js'
import { type BodyLimits, bodyChunks } from './read-body.js'

/** Place and size of bodies that are kept. */
export interface SpoolOptions {
  /** largest body that stays in memory */
  readonly inlineBytes: number
  readonly tempDir: string
  /** called before each write. @throws AppError DISK_FULL when it would touch the reserve */
  requireSpace(bytes: number): Promise<void>
}

/** A body in memory, or in a file that the caller must remove. */
type SpooledBody = { bytes: Uint8Array } | { file: string; sizeBytes: number }

/**
 * Reads a body that may be large: up to `inlineBytes` into memory, a larger one into a file in `tempDir`. The
 * file needs no fsync, as it is removed after the call and a call that crashed was not acknowledged.
 *
 * @throws AppError as `bodyChunks` does, and DISK_FULL, also when the reserve would be touched on the way; the
 *   file is removed then
 */
export async function spoolBody(
  c: HttpContext,
  limits: BodyLimits,
  { inlineBytes, tempDir, requireSpace }: SpoolOptions,
): Promise<SpooledBody> {
  const held: Uint8Array[] = []
  let heldBytes = 0
  const chunks = bodyChunks(c, limits)
  for (let step = await chunks.next(); step.done !== true; step = await chunks.next()) {
    held.push(step.value)
    heldBytes += step.value.byteLength
    if (heldBytes > inlineBytes)
      return await spoolRest(held, chunks, path.join(tempDir, `${randomUUID()}.body`), requireSpace)
  }
  return { bytes: held.length === 1 ? (held[0] as Uint8Array) : Buffer.concat(held) }
}

async function spoolRest(
  held: Uint8Array[],
  chunks: AsyncGenerator<Uint8Array>,
  file: string,
  requireSpace: SpoolOptions['requireSpace'],
): Promise<SpooledBody> {
  const handle = await open(file, 'wx', 0o600)
  let sizeBytes = 0
  const append = async (chunk: Uint8Array) => {
    await requireSpace(chunk.byteLength)
    await handle.appendFile(chunk)
    sizeBytes += chunk.byteLength
  }
  try {
    for (const chunk of held) await append(chunk)
    held.length = 0
    for await (const chunk of chunks) await append(chunk)
    return { file, sizeBytes }
  } catch (error) {
    await unlink(file)
    throw isDiskFull(error) ? new AppError('DISK_FULL', {}, { cause: error }) : error
  } finally {
    await handle.close()
  }
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}
