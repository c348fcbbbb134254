import type { S3Store } from '../../../files/s3/store.js'
import type { Log } from '../../../log.js'
import type { SweepLease } from '../../../storage/work/sweep-lease.js'
import { type NamedObjectsDeps, namedObjects } from './named-objects.js'

export interface DatasetSweepDeps extends NamedObjectsDeps {
  readonly bytes: Pick<S3Store, 'localFile' | 'listAged' | 'remove'>
  /** that of the processes that store objects */
  readonly lease: SweepLease
  readonly log: Pick<Log, 'info' | 'warn'>
  /** wall clock, ms */
  nowMs(): number
}

/**
 * Age from which on an object without a row may go, ms. Who stores one holds the lease until its row is written; this is for a
 * process that was frozen in between, and for clocks that differ.
 */
const SAFE_AGE_MS = 86_400_000
/** Objects without a row that a sweep removes at any size of the store, and the share above which they stay. */
const FEW = 10
const MAX_SHARE = 0.1

/**
 * Removes objects of datasets and citations that nothing names: the rest of citations whose row was never written, and of moves
 * that began again. More than a few stay: the database is not the one that they belong to.
 */
export async function sweepDatasets(deps: DatasetSweepDeps): Promise<void> {
  const { bytes, lease, log, nowMs } = deps
  const old: string[] = []
  let total = 0
  for await (const { sha256, putAtMs } of bytes.listAged()) {
    total++
    if (putAtMs <= nowMs() - SAFE_AGE_MS) old.push(sha256)
  }
  // mostly there is nothing to remove, and no writer has to wait
  if ((await unnamedOf(old, deps)).length === 0) return
  const removal = await lease.remove()
  if (removal === undefined) return
  try {
    const unnamed = await unnamedOf(old, deps)
    if (unnamed.length > Math.max(FEW, total * MAX_SHARE)) {
      log.warn(
        { held: unnamed.length },
        'objects of datasets that nothing names stay: they are too many for the rest of cut-off work',
      )
      return
    }
    for (const sha256 of unnamed) {
      await removal.confirm()
      await bytes.remove(sha256)
    }
    if (unnamed.length > 0)
      log.info({ removed: unnamed.length }, 'objects of datasets that nothing names removed')
  } finally {
    await removal.release()
  }
}

async function unnamedOf(digests: readonly string[], deps: NamedObjectsDeps): Promise<string[]> {
  const named = new Set<string>()
  for await (const page of namedObjects(deps)) for (const { sha256 } of page) named.add(sha256)
  return digests.filter((sha256) => !named.has(sha256))
}
