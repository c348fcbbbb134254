import { setTimeout as sleep } from 'node:timers/promises'
import type { RegisterDeps } from '../models/register-model.js'
import { checkModels, scrubOnce, sweepBlobs, type UpkeepDeps } from '../models/upkeep.js'
import type { Uploads } from '../models/uploads.js'
import { FETCH_PART } from '../sync/fetch-model.js'
import type { ModelServicesOptions, Rows } from './model-services.js'

/** Bytes are read through again this long after the last one was checked. */
const SCRUB_PAUSE_MS = 24 * 3600 * 1000
/** The first reading waits until the start is over. */
const FIRST_SCRUB_MS = 60_000

/** Checks at the start, then sweeps and reads through what is stored, until it is stopped. */
export function startUpkeep(
  { config, state, log }: ModelServicesOptions,
  rows: Rows,
  register: RegisterDeps,
  uploads: Uploads,
) {
  const stopping = new AbortController()
  const { signal } = stopping
  let damagedCount = 0
  const deps: UpkeepDeps = {
    ...register,
    log,
    onDamaged: (count) => {
      damagedCount += count
    },
  }
  const wait = (ms: number) => sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
  const sweep = async () => {
    const removed = await sweepBlobs(register)
    const waiting = await rows.transfers.list({
      conds: { in: ['state', ['queued', 'sending']] },
      env: { timeZoneMin: 0, nowUs: 0n },
    })
    const kept = new Set(waiting.map(({ transferId }) => `${FETCH_PART}${transferId}`))
    // never by a clock that cannot be believed
    const beforeUs = state.clock.isTrusted() ? state.clock.nowUs() - config.modelStore.uploadExpiryS * 1e6 : 0
    await uploads.removeIdle(beforeUs, (id) => kept.has(id))
    if (removed > 0) log.info({ removed }, 'bytes that no model names were removed')
    return removed
  }
  const guarded = async (what: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, `${what} failed`)
    }
  }
  const sweeping = (async () => {
    await checkModels(deps)
    while (!signal.aborted) {
      await guarded('the sweep of models', sweep)
      await wait(config.modelStore.sweepMinutes * 60_000)
    }
  })()
  const scrubbing = (async () => {
    await wait(FIRST_SCRUB_MS)
    while (!signal.aborted) {
      await guarded('reading models through', () =>
        scrubOnce(deps, config.modelStore.scrubBytesPerSecond, wait, signal),
      )
      await wait(SCRUB_PAUSE_MS)
    }
  })()
  return {
    sweep,
    damaged: () => damagedCount,
    async stop() {
      stopping.abort()
      await Promise.all([sweeping, scrubbing])
    },
  }
}
