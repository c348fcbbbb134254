import { setTimeout as sleep } from 'node:timers/promises'
import { LOSS_ACCEPTED, type MetaStore, SWEEP_HELD } from '../storage/meta.js'
import type { DeltaStore } from './delta-store.js'
import { judgeSignatures } from './judge-signatures.js'
import { keepNewest } from './keep-newest.js'
import type { SignaturePolicy } from './signature/policy.js'
import { sweepBlobs } from './sweep.js'
import { checkModels, quarantine, type ScrubPace, scrubOnce, type UpkeepDeps } from './upkeep.js'
import type { Uploads } from './uploads.js'

/** Pause between two scrubs. */
const SCRUB_PAUSE_MS = 24 * 3600 * 1000
/** Delay of the first scrub, so that it does not slow down the start. */
const FIRST_SCRUB_MS = 60_000

interface UpkeepLoopDeps extends Omit<UpkeepDeps, 'onDamaged'> {
  signatures: Pick<SignaturePolicy, 'judge'>
  uploads: Pick<Uploads, 'removeIdle' | 'finishComplete'>
  /** null where deltas are off */
  deltas: Pick<DeltaStore, 'expire'> | null
  clock: { nowUs(): number; isTrusted(): boolean }
  settings: { sweepMinutes: number; scrubBytesPerSecond: number; uploadExpiryS: number; modelsKept: number }
  /** returns the ids of parts that belong to waiting transfers */
  keptParts(): Promise<ReadonlySet<string>>
  /** for tests: waits, or less if the signal fires. By default a timer that does not keep the process alive */
  wait?(ms: number, signal: AbortSignal): Promise<unknown>
  /** notes that are kept over a restart: the operator's decision, and what waits for it */
  notes: Pick<MetaStore, 'noted' | 'note'>
}

/** Upkeep of the model store. */
export interface Upkeep {
  /** Removes unreferenced bytes and idle uploads now. Returns the number of removed blobs. */
  sweep(): Promise<number>
  /** Moves damaged bytes away, and marks their models. */
  quarantine(sha256: string, reason: string): Promise<void>
  /** Returns the number of models found damaged since the start. */
  damagedCount(): number
  stop(): Promise<void>
}

/** Starts the upkeep: checks all models, then sweeps and scrubs at intervals until it is stopped. */
export function startUpkeep(loop: UpkeepLoopDeps): Upkeep {
  const stopping = new AbortController()
  const { signal } = stopping
  let damagedCount = 0
  const deps: UpkeepDeps = {
    ...loop,
    onDamaged(count) {
      damagedCount += count
    },
  }
  const timer = loop.wait ?? ((ms) => sleep(ms, undefined, { signal, ref: false }))
  const wait = async (ms: number) => void (await timer(ms, signal).catch(() => undefined)) // stopped
  const repeat = async (subject: string, work: () => Promise<unknown>, pauseMs: number) => {
    while (!signal.aborted) {
      try {
        await work()
      } catch (error) {
        if (!signal.aborted) loop.log.warn({ err: error }, `${subject} failed`)
      }
      await wait(pauseMs)
    }
  }
  const { sweepMinutes, scrubBytesPerSecond } = loop.settings
  const pace: ScrubPace = { bytesPerSecond: scrubBytesPerSecond, wait, signal }
  const finishing = finishUploads(loop).catch((error: unknown) =>
    loop.log.warn({ err: error }, 'complete uploads could not be listed'),
  )
  const sweeping = finishing
    .then(() => judge(loop, signal))
    .then(() => checkModels(deps))
    .then(() => repeat('the sweep of models', () => sweep(loop), sweepMinutes * 60_000))
  const scrubbing = wait(FIRST_SCRUB_MS).then(() =>
    repeat('the scrub of models', () => scrubOnce(deps, pace), SCRUB_PAUSE_MS),
  )
  return {
    sweep: () => sweep(loop),
    quarantine: (sha256, reason) => quarantine(deps, sha256, reason),
    damagedCount: () => damagedCount,
    async stop() {
      stopping.abort()
      await Promise.all([sweeping, scrubbing])
    },
  }
}

/** Registers complete uploads that have no model yet: their callers were told that the bytes have arrived. */
async function finishUploads({ uploads, log }: UpkeepLoopDeps): Promise<void> {
  const count = await uploads.finishComplete((uploadId, error) =>
    log.warn({ uploadId, err: error }, 'a complete upload could not be registered'),
  )
  if (count > 0) log.info({ count }, 'complete uploads of an earlier run registered')
}

/** Judges signatures of keys that are trusted since. They read `unknown_key` until then. */
async function judge({ models, signatures, log }: UpkeepLoopDeps, signal: AbortSignal): Promise<void> {
  try {
    const count = await judgeSignatures(models, signatures, signal)
    if (count > 0) log.info({ count }, 'signatures of newly trusted keys judged')
  } catch (error) {
    log.warn({ err: error }, 'stored signatures could not be judged')
  }
}

async function sweep(loop: UpkeepLoopDeps): Promise<number> {
  const { notes, log, deltas } = loop
  await finishUploads(loop)
  // an untrusted clock expires nothing
  const beforeUs = loop.clock.isTrusted() ? loop.clock.nowUs() - loop.settings.uploadExpiryS * 1_000_000 : 0
  // by then the other side has removed the upload that a delta would continue
  const expired = (await deltas?.expire(beforeUs / 1000)) ?? 0
  if (expired > 0) log.info({ expired }, 'deltas that were not used for long removed')
  await keepNewest(loop, loop.settings.modelsKept)
  const isAccepted = (await notes.noted(LOSS_ACCEPTED)) === 'yes'
  const { removed, held } = await sweepBlobs(loop, isAccepted)
  if (isAccepted) await notes.note(LOSS_ACCEPTED, 'no')
  const heldBefore = Number((await notes.noted(SWEEP_HELD)) ?? 0)
  if (held !== heldBefore) await notes.note(SWEEP_HELD, String(held))
  if (held > 0) {
    if (held !== heldBefore)
      log.warn(
        { held },
        'model bytes that no row refers to are kept, because they are many: is this the database they belong to? fieldgate doctor has advice',
      )
    return removed // parts without a row may belong to the same lost rows
  }
  const kept = await loop.keptParts()
  await loop.uploads.removeIdle(beforeUs, (partId) => kept.has(partId))
  if (removed > 0) loop.log.info({ removed }, 'unreferenced model bytes removed')
  return removed
}
