import { isAppError, messageOf } from '../errors.js'
import type { StoredDelta } from '../models/delta-store.js'
import type { ModelRecord } from '../storage/models/models.js'
import type { Attempt, AttemptDeps } from './attempt.js'
import { shorten } from './faults.js'

/** Bases that are offered at most: each costs 67 bytes, also where the peer has the model. */
const MAX_BASES = 4
/** Statuses from 400 to 499 that say nothing about a delta. */
const OTHER_STATUSES = [401, 404, 408, 409, 410, 423, 425, 429]

/**
 * Returns digests of files to which a delta may be sent; none where deltas are off, or the peer takes none, or
 * has refused one of this transfer.
 */
export async function basesFor(
  { deltas, register }: Pick<AttemptDeps, 'deltas' | 'register'>,
  { peer, upstream }: Attempt,
  model: ModelRecord,
): Promise<string[]> {
  if (deltas === null || !peer.takesDeltas || model.sizeBytes < deltas.store.minBytes) return []
  const { storeId } = upstream
  const { kind, sha256, seq: beforeSeq } = model
  return await register.models.listBases(storeId, { kind, sha256, beforeSeq, limit: MAX_BASES })
}

/** Returns the delta that an earlier attempt began to send, if it still has the same bytes. */
export async function resumedDelta(
  { deltas }: Pick<AttemptDeps, 'deltas'>,
  { transfer }: Attempt,
  { sha256: next }: ModelRecord,
): Promise<StoredDelta | undefined> {
  const { delta } = transfer
  if (deltas === null || delta === null || delta.sha256 === null) return undefined
  const stored = await deltas.store.find({ base: delta.base, next })
  return stored?.sha256 === delta.sha256 ? stored : undefined
}

/** Makes a delta to a base that the peer has; undefined, with the reason in the transfer, if there is none. */
export async function deltaTo(
  deps: Pick<AttemptDeps, 'deltas' | 'transfers'>,
  attempt: Attempt,
  model: ModelRecord,
  base: string,
): Promise<StoredDelta | undefined> {
  if (deps.deltas === null) return undefined // no test: no base is announced where deltas are off
  try {
    return await deps.deltas.store.make({ base, next: model.sha256 }, attempt.signal)
  } catch (error) {
    if (attempt.signal.aborted) throw error
    await giveUpDelta(deps, attempt, base, messageOf(error))
    return undefined
  }
}

/** Notes that the whole model is carried, and why. */
export async function giveUpDelta(
  { transfers }: Pick<AttemptDeps, 'transfers'>,
  { transfer: { transferId }, progress }: Attempt,
  base: string,
  reason: string,
): Promise<void> {
  progress.doneBytes = 0
  const delta = { base, sha256: null, sizeBytes: null, error: shorten(reason) }
  await transfers.note(transferId, { bytesSent: 0, resumeUrl: null, savedBytes: 0, delta })
}

/** Returns the reason if an answer refuses a delta for good. */
export function deltaRefusal(error: unknown): string | undefined {
  if (!isAppError(error) || error.errorName !== 'UPSTREAM_REFUSED') return undefined
  const { status } = error.data
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined
  return OTHER_STATUSES.includes(status) ? undefined : error.message
}
