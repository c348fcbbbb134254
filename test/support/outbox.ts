import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { TransferKind, TransferRecord } from '../../src/storage/models/transfers.js'
import type { Progress } from '../../src/sync/attempt.js'
import type { Engine, OutboxDeps } from '../../src/sync/engine.js'
import { createSyncMetrics } from '../../src/sync/metrics.js'
import { type MemoryState, memoryState } from './memory-state.js'
import { model } from './model-rows-conformance.js'

/** Attempt that a scripted runner was asked for; the test ends it. */
export interface HeldAttempt {
  transferId: number
  signal: AbortSignal
  progress: Progress
  /** answers as the upstream would, or null for a fetch that has registered its model */
  deliver(answer?: string | null): void
  fail(error: unknown): void
}

/** Outbox over a database in memory, with a runner whose attempts wait until the test ends them. */
export async function outboxParts(t: Test) {
  const state = await memoryState(t)
  const store = await state.modelStores.create('rain')
  if (store === undefined) throw new Error('the store was not made')
  const attempts: HeldAttempt[] = []
  /** upstreams whose kind was forgotten */
  const forgotten: number[] = []
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = []
  const clock = { ms: 1000, isClosed: false, reason: null as string | null, random: 0.5 }
  const log = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...fields } })
  const deps: OutboxDeps = {
    transfers: state.transfers,
    control: state.control,
    runner: {
      run(transfer, signal, progress) {
        return new Promise<string | null>((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          const deliver = (answer: string | null = '{"model_id":"theirs"}') => resolve(answer)
          attempts.push({ transferId: transfer.transferId, signal, progress, deliver, fail: reject })
        })
      },
      forgetPeer: (upstreamId) => void forgotten.push(upstreamId),
      close: async () => {
        clock.isClosed = true
      },
    },
    waits: { baseMs: 1000, capMs: 60_000 },
    concurrency: 4,
    closedReason: () => clock.reason,
    nowMs: () => clock.ms,
    nowUs: () => 7_000_000,
    random: () => clock.random,
    log: { debug: log('debug'), info: log('info'), warn: log('warn') },
  }
  return {
    state,
    store,
    deps,
    attempts,
    forgotten,
    lines,
    clock,
    /** makes an upstream of the store */
    async upstream(): Promise<number> {
      const made = await state.upstreams.create({
        storeId: store.storeId,
        endpoint: 'https://up.example',
        apikey: 'key',
        secret: 'secret',
        upstreamStore: 'theirs',
        alias: 'up',
        description: '',
        isEnabled: true,
      })
      return made.upstreamId
    },
    /** queues a transfer */
    async queue(upstreamId: number, kind: TransferKind = 'feedback', sizeBytes = 100): Promise<number> {
      if (kind === 'fetch') return (await state.transfers.queueFetch(store.storeId, upstreamId)).transferId
      const sha256 = randomBytes(32).toString('hex')
      const added = await state.models.add(model({ sha256, sizeBytes }), { autoCreate: true, push: false })
      if (added === undefined) throw new Error('the model was not added')
      return (await state.transfers.queueFeedback(added.model, upstreamId)).transferId
    },
  }
}

/** Engine as `startOutbox` makes it, which schedules only when the test does. */
export async function engineOf(deps: OutboxDeps, state: MemoryState): Promise<Engine & { wakes: number }> {
  const engine = {
    ...deps,
    lanes: new Map(),
    active: new Map(),
    watchers: new Set<never>(),
    metrics: createSyncMetrics(),
    isPaused: false,
    isStopped: false,
    unrecorded: new Set<number>(),
    seen: { changes: await state.control.changeCount(), wakes: await state.control.wakeCount() },
    wakes: 0,
    wake() {
      engine.wakes++
    },
  } as Engine & { wakes: number }
  return engine
}

/** Row of a transfer. */
export async function rowOf(state: MemoryState, transferId: number): Promise<TransferRecord> {
  const row = await state.transfers.find(transferId)
  if (row === undefined) throw new Error(`transfer ${transferId} is missing`)
  return row
}
