import { messageOf } from '../errors.js'
import { type BlobStore, digestOf } from '../files/blob-store.js'
import type { ModelRows } from '../storage/models/models.js'
import type { Pins } from './pins.js'

/** Rate and end of a scrub. */
export interface ScrubPace {
  /** read rate, small enough to leave the disk to others */
  bytesPerSecond: number
  /** sleeps; resolves or rejects early when the signal fires */
  wait(ms: number): Promise<void>
  signal: AbortSignal
}

export interface UpkeepDeps {
  models: ModelRows
  blobs: BlobStore
  pins: Pins
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
  /** called with the number of models whose bytes were found damaged */
  onDamaged(count: number): void
}

/** Rows and digests read at a time; the event loop turns between two reads. */
const PAGE = 500

/**
 * Checks all models after a start: hides rows that cannot be shown, and compares the size of each blob with
 * its row. Does not throw: a bad row or file is logged and must not keep the gateway from serving.
 */
export async function checkModels(deps: UpkeepDeps): Promise<void> {
  try {
    await checkRows(deps)
    await checkSizes(deps)
  } catch (error) {
    deps.log.warn({ err: error }, 'the models could not be checked')
  }
}

/**
 * Reads every blob once and compares its digest, so that bit rot is found before the bytes are needed.
 *
 * @returns numbers of checked and of damaged blobs
 */
export async function scrubOnce(
  deps: UpkeepDeps,
  pace: ScrubPace,
): Promise<{ checked: number; damaged: number }> {
  let checked = 0
  let damaged = 0
  for (let after = ''; ; ) {
    const page = await deps.models.digests(after, PAGE)
    for (const { sha256, isDamaged } of page) {
      if (pace.signal.aborted) return { checked, damaged }
      after = sha256
      if (isDamaged) continue
      checked++
      if (!(await scrubBlob(deps, sha256, pace))) damaged++
    }
    if (page.length < PAGE) return { checked, damaged }
  }
}

async function checkRows({ models, log, onDamaged }: UpkeepDeps): Promise<void> {
  for (let after = 0; ; ) {
    const { lastSeq, faults } = await models.quarantineBadRows(after, PAGE)
    for (const fault of faults) log.warn({ ...fault }, 'damaged model row hidden')
    if (faults.length > 0) onDamaged(faults.length)
    if (lastSeq === null) return
    after = lastSeq
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function checkSizes(deps: UpkeepDeps): Promise<void> {
  for (let after = ''; ; ) {
    const page = await deps.models.digests(after, PAGE)
    for (const { sha256, sizeBytes, isDamaged } of page) {
      after = sha256
      try {
        const found = await deps.blobs.stat(sha256)
        if (found?.sizeBytes === sizeBytes) {
          if (isDamaged) await restoreIfWhole(deps, sha256)
        } else if (!isDamaged)
          await quarantine(deps, sha256, `found ${found?.sizeBytes ?? 'no'} bytes, expected ${sizeBytes}`)
      } catch (error) {
        deps.log.warn({ sha256, err: error }, 'model bytes cannot be checked')
      }
    }
    if (page.length < PAGE) return
  }
}

/**
 * Unmarks damaged bytes whose file is whole again, for example after a restore: reads it to compare the
 * digest.
 */
async function restoreIfWhole(deps: UpkeepDeps, sha256: string): Promise<void> {
  const bytes = await deps.blobs.open(sha256)
  if (bytes === undefined || (await digestOf(bytes)).sha256 !== sha256) return
  await deps.models.setDamaged(sha256, false)
  deps.log.info({ sha256 }, 'damaged model bytes are whole again')
}

/** Reads one blob. Returns false for a damaged or missing one, which is then quarantined. */
async function scrubBlob(deps: UpkeepDeps, sha256: string, pace: ScrubPace): Promise<boolean> {
  const bytes = await deps.blobs.open(sha256)
  if (bytes === undefined) {
    if (!(await deps.models.isNamed(sha256))) return true // deleted meanwhile
    await quarantine(deps, sha256, 'found no bytes')
    return false
  }
  try {
    const { sha256: found } = await digestOf(paced(bytes, pace))
    if (found === sha256 || pace.signal.aborted) return true
    await quarantine(deps, sha256, `found bytes of the SHA-256 ${found}`)
  } catch (error) {
    await quarantine(deps, sha256, `cannot be read: ${messageOf(error)}`)
  }
  return false
}

/** Yields the chunks of a source at the rate of a scrub, until it is stopped. */
async function* paced(
  source: AsyncIterable<Uint8Array>,
  { bytesPerSecond, wait, signal }: ScrubPace,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    if (signal.aborted) return
    yield chunk
    await wait((chunk.byteLength / bytesPerSecond) * 1000)
  }
}

/** Moves damaged bytes away and marks the models that refer to them. */
export async function quarantine(
  { models, blobs, pins, log, onDamaged }: UpkeepDeps,
  sha256: string,
  reason: string,
): Promise<void> {
  if (pins.isPinned(sha256)) return // replaced by new bytes at this moment
  await blobs.quarantine(sha256)
  const count = await models.setDamaged(sha256, true)
  onDamaged(count)
  log.warn({ sha256, reason, models: count }, 'damaged model bytes moved to quarantine')
}
