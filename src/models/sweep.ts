import type { BlobStore } from '../files/blob-store.js'
import type { ModelRows } from '../storage/models/models.js'
import type { Pins } from './pins.js'

/** Result of a sweep, in numbers of files. */
export interface Swept {
  removed: number
  /** files that no row names and that stay, because they are too many to be the rest of interrupted calls */
  held: number
}

/** Files without a row that a sweep removes at any size of the store: the rest of interrupted calls. */
const FEW_BLOBS = 10
/** Share of the files above which those without a row are kept. */
const MAX_SHARE = 0.1
/** Released digests that one sweep forgets. */
const FORGET = 1000

/**
 * Removes the bytes of deleted models, and the rows of deleted models.
 *
 * Bytes that no row names and no deletion released are left over by interrupted calls, which are few; or the
 * database is not the one that they belong to. More than a few are therefore kept, until the operator accepts
 * their loss.
 */
export async function sweepBlobs(
  { models, blobs, pins }: { models: ModelRows; blobs: BlobStore; pins: Pins },
  acceptsLoss = false,
): Promise<Swept> {
  await models.purge()
  const remove = async (sha256: string) =>
    (await pins.removeUnnamed(
      sha256,
      () => models.isNamed(sha256),
      () => blobs.remove(sha256),
    ))
      ? 1
      : 0
  const unknown: string[] = []
  let total = 0
  let removed = 0
  for await (const sha256 of blobs.list()) {
    total++
    if (pins.isPinned(sha256) || (await models.isNamed(sha256))) continue
    if (await models.isReleased(sha256)) removed += await remove(sha256)
    else unknown.push(sha256)
  }
  await forgetGone(models, blobs)
  if (!acceptsLoss && unknown.length > Math.max(FEW_BLOBS, total * MAX_SHARE))
    return { removed, held: unknown.length }
  for (const sha256 of unknown) removed += await remove(sha256)
  return { removed, held: 0 }
}

/** Forgets the releases of bytes that are gone, in one write. */
async function forgetGone(models: ModelRows, blobs: BlobStore): Promise<void> {
  const gone: string[] = []
  for (const sha256 of await models.released(FORGET))
    if ((await blobs.stat(sha256)) === undefined) gone.push(sha256)
  await models.forgetReleased(gone)
}
