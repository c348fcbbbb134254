import { messageOf } from '../errors.js'
import { type BlobStore, digestOf } from '../files/blob-store.js'
import type { ModelRows } from '../storage/models.js'
import type { Pins } from './pins.js'

export interface UpkeepDeps {
  models: ModelRows
  blobs: BlobStore
  pins: Pins
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
  /** counts what was put aside, for the metrics */
  onDamaged(count: number): void
}

/** Rows looked at between two turns of the event loop. */
const PAGE = 500

/**
 * After a start: hides rows that cannot be shown, and compares each blob's size with its row. Nothing of it throws:
 * one bad row or file is told in the log and never keeps the gateway from serving.
 */
export async function checkModels(deps: UpkeepDeps): Promise<void> {
  try {
    await checkRows(deps)
    await checkSizes(deps)
  } catch (error) {
    deps.log.warn({ err: error }, 'the models could not be checked')
  }
}

/** Removes bytes that no model names. @returns how many files went */
export async function sweepBlobs({
  models,
  blobs,
  pins,
}: Pick<UpkeepDeps, 'models' | 'blobs' | 'pins'>): Promise<number> {
  await models.purge()
  let removed = 0
  for await (const sha256 of blobs.list()) {
    const isGone = await pins.removeUnnamed(
      sha256,
      () => models.isNamed(sha256),
      () => blobs.remove(sha256),
    )
    if (isGone) removed++
  }
  return removed
}

/**
 * Reads every blob once and compares its digest, at a low rate, so that bit rot is found before the bytes are needed.
 *
 * @param bytesPerSecond what the reading may take of the disk
 * @param wait sleeps; rejects or resolves early when the signal fires
 */
export async function scrubOnce(
  deps: UpkeepDeps,
  bytesPerSecond: number,
  wait: (ms: number) => Promise<void>,
  signal: AbortSignal,
): Promise<{ checked: number; damaged: number }> {
  let checked = 0
  let damaged = 0
  for (let after = ''; ; ) {
    const page = await deps.models.digests(after, PAGE)
    for (const { sha256, isDamaged } of page) {
      if (signal.aborted) return { checked, damaged }
      after = sha256
      if (isDamaged) continue
      checked++
      if (!(await scrubBlob(deps, sha256, bytesPerSecond, wait, signal))) damaged++
    }
    if (page.length < PAGE) return { checked, damaged }
  }
}

async function checkRows({ models, log, onDamaged }: UpkeepDeps): Promise<void> {
  for (let after = 0; ; ) {
    const { lastSeq, faults } = await models.quarantineBadRows(after, PAGE)
    for (const fault of faults) log.warn({ ...fault }, 'a damaged model row was put aside')
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
          if (isDamaged) await heal(deps, sha256)
        } else if (!isDamaged)
          await putAside(deps, sha256, `found ${found?.sizeBytes ?? 'no'} bytes, expected ${sizeBytes}`)
      } catch (error) {
        deps.log.warn({ sha256, err: error }, 'the bytes of a model cannot be looked at')
      }
    }
    if (page.length < PAGE) return
  }
}

/** A file that came back, for instance from a backup, counts again once it has been read through. */
async function heal(deps: UpkeepDeps, sha256: string): Promise<void> {
  const bytes = await deps.blobs.open(sha256)
  if (bytes === undefined || (await digestOf(bytes)).sha256 !== sha256) return
  await deps.models.setDamaged(sha256, false)
  deps.log.info({ sha256 }, 'the bytes of a model are whole again')
}

async function scrubBlob(
  deps: UpkeepDeps,
  sha256: string,
  bytesPerSecond: number,
  wait: (ms: number) => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  const bytes = await deps.blobs.open(sha256)
  if (bytes === undefined) {
    if (!(await deps.models.isNamed(sha256))) return true // deleted meanwhile
    await putAside(deps, sha256, 'found no bytes')
    return false
  }
  try {
    const { sha256: found } = await digestOf(slowly(bytes, bytesPerSecond, wait, signal))
    if (found === sha256 || signal.aborted) return true
    await putAside(deps, sha256, `found bytes of the digest ${found}`)
  } catch (error) {
    await putAside(deps, sha256, `cannot be read: ${messageOf(error)}`)
  }
  return false
}

async function* slowly(
  source: AsyncIterable<Uint8Array>,
  bytesPerSecond: number,
  wait: (ms: number) => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    if (signal.aborted) return
    yield chunk
    await wait((chunk.byteLength / bytesPerSecond) * 1000)
  }
}

async function putAside(
  { models, blobs, pins, log, onDamaged }: UpkeepDeps,
  sha256: string,
  reason: string,
): Promise<void> {
  if (pins.isPinned(sha256)) return // new bytes are just coming
  await blobs.quarantine(sha256)
  const count = await models.setDamaged(sha256, true)
  onDamaged(count)
  log.warn({ sha256, reason, models: count }, 'damaged bytes of a model were put aside')
}
