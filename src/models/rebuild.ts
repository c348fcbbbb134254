import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { AppError, isAppError, messageOf } from '../errors.js'
import { type BlobStore, digestOf, isDiskFull, type StagedBlob } from '../files/blob-store.js'
import { readDeltaHead } from './delta/apply-delta.js'
import type { DeltaWork } from './delta/jobs.js'
import type { Pins } from './pins.js'

/** Dependencies of rebuilding a file. */
export interface RebuildDeps {
  readonly blobs: BlobStore
  readonly pins: Pins
  readonly work: DeltaWork
  /** unfinished files, in the file system of the blobs */
  readonly tempDir: string
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
}

/** A delta that arrived, and what it has to become. */
export interface ArrivedDelta {
  /** path of its file */
  readonly file: string
  /** digest of the file that it was made from, hex */
  readonly base: string
  /** digest and size of the file that it becomes */
  readonly sha256: string
  readonly sizeBytes: number
}

/** Errors that say nothing about the delta: the same delta may be applied later. */
const PASSING = ['DISK_FULL', 'BUSY', 'CANCELLED']

/**
 * Rebuilds a file from a stored one and a delta. Nothing is returned before the SHA-256 of the rebuilt bytes,
 * as they are on disk, was found right.
 *
 * @throws AppError BAD_DELTA for any other doubt than DISK_FULL, BUSY and CANCELLED; no file is left then
 */
export async function rebuild(
  deps: RebuildDeps,
  delta: ArrivedDelta,
  signal?: AbortSignal,
): Promise<StagedBlob> {
  const output = path.join(deps.tempDir, `${randomUUID()}.rebuilt`)
  const unpin = await deps.pins.pin(delta.base)
  try {
    await apply(deps, delta, output, signal)
    const facts = await digestOf(createReadStream(output))
    if (facts.sha256 !== delta.sha256 || facts.sizeBytes !== delta.sizeBytes)
      throw bad(
        `found ${facts.sizeBytes} rebuilt bytes of the SHA-256 ${facts.sha256}, expected ${delta.sizeBytes} of ${delta.sha256}`,
      )
    const staged = await deps.blobs.stageFile(output, facts)
    return { ...staged, drop: () => rm(output, { force: true }) }
  } catch (error) {
    await rm(output, { force: true })
    if (isDiskFull(error)) throw new AppError('DISK_FULL', {}, { cause: error })
    if (isAppError(error) && (PASSING.includes(error.errorName) || error.errorName === 'BAD_DELTA'))
      throw error
    throw bad(messageOf(error), error)
  } finally {
    unpin()
  }
}

async function apply(
  { blobs, work, requireSpace }: RebuildDeps,
  { file, base, sha256, sizeBytes }: ArrivedDelta,
  output: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const head = await readDeltaHead(createReadStream(file))
  if (head.base.sha256 !== base) throw bad(`found one of the base ${head.base.sha256}, expected ${base}`)
  if (head.result.sha256 !== sha256 || head.result.sizeBytes !== sizeBytes) {
    const found = `${head.result.sizeBytes} bytes of the SHA-256 ${head.result.sha256}`
    throw bad(`found one that becomes ${found}, expected ${sizeBytes} of ${sha256}`)
  }
  const stored = await blobs.localFile(base)
  if (stored === undefined) throw bad(`found no bytes of the base ${base}`)
  await requireSpace(sizeBytes)
  const files = { base: { path: stored, sha256: base }, delta: file, output, maxBytes: sizeBytes }
  await work.apply(files, signal)
}

function bad(message: string, cause?: unknown): AppError {
  return new AppError('BAD_DELTA', {}, { message: `Bad delta: ${message}`, cause })
}
