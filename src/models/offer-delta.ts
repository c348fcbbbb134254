import { messageOf } from '../errors.js'
import type { ModelRows } from '../storage/models/models.js'
import type { DeltaStore, StoredDelta } from './delta-store.js'

interface OfferDeps {
  /** null where deltas are off */
  deltas: DeltaStore | null
  models: Pick<ModelRows, 'findByDigest'>
  log: { info(fields: object, message: string): void }
}

/** Longest time for which a download waits for its delta, ms: below the idle time-out of its receiver. */
const WAIT_MS = 20_000

/**
 * Returns a delta from a file that the receiver has; undefined when the file itself has to be sent. A delta that
 * is on disk is preferred, then the first base that is stored here. One that takes longer than `waitMs` is made to
 * its end for the next receiver.
 *
 * @param bases digests of files that the receiver has, hex
 */
export async function offerDelta(
  { deltas, models, log }: OfferDeps,
  { sha256: next, sizeBytes }: { sha256: string; sizeBytes: number },
  bases: readonly string[],
  waitMs = WAIT_MS,
): Promise<StoredDelta | undefined> {
  if (deltas === null || sizeBytes < deltas.minBytes) return undefined
  const usable = bases.filter((base) => base !== next)
  for (const base of usable) {
    const found = await deltas.find({ base, next })
    if (found !== undefined) return found
  }
  for (const base of usable) {
    if ((await models.findByDigest(base)) === undefined) continue
    try {
      return await deltas.make({ base, next }, AbortSignal.timeout(waitMs))
    } catch (error) {
      log.info({ base, model: next, reason: messageOf(error) }, 'the model is sent without a delta')
      return undefined
    }
  }
  return undefined
}
