import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.js'
import type { PartFiles } from '../files/part-files.js'
import type { RegisterDeps } from '../models/register-model.js'
import type { State } from '../storage/state.js'
import type { AttemptDeps } from './attempt.js'
import type { OutboxDeps } from './engine.js'
import type { ClientSettings } from './http-client.js'
import { type Outbox, startOutbox } from './outbox.js'
import { createRunner } from './run-attempt.js'
import type { Throttle } from './throttle.js'
import { isWithinWindows } from './windows.js'

interface OpenOutboxOptions {
  config: Config
  state: Pick<State, 'clock' | 'transfers' | 'upstreams' | 'control'>
  /**
   * registers fetched models. Its `onQueued` need not wake the outbox, which schedules again after every
   * attempt
   */
  register: RegisterDeps
  parts: PartFiles
  deltas: AttemptDeps['deltas']
  requireSpace(bytes: number): Promise<void>
  /** shared with everything that is sent to other nodes */
  throttle: Throttle
  /** minutes east of UTC, for `sync.windows` */
  timeZoneMin: number
  version: string
  log: OutboxDeps['log']
}

/** Opens the outbox with the settings of a gateway and starts it. */
export async function openOutbox(options: OpenOutboxOptions): Promise<Outbox> {
  const { config, state, register } = options
  const { sync } = config
  const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal })
  const closedReason = () => closedReasonOf(sync, state.clock.nowUs(), options.timeZoneMin)
  const nowMs = () => performance.now()
  const attempts = {
    register,
    transfers: state.transfers,
    blobs: register.blobs,
    parts: options.parts,
    deltas: options.deltas,
    nodeId: register.nodeId,
    requireSpace: options.requireSpace,
    throttle: options.throttle,
    closedReason,
    sleep: pause,
    random: Math.random,
  }
  return await startOutbox({
    transfers: state.transfers,
    control: state.control,
    runner: createRunner(attempts, {
      upstreams: state.upstreams,
      settings: clientSettings(sync, options.version),
    }),
    waits: { baseMs: sync.retryBaseS * 1000, capMs: sync.retryCapS * 1000 },
    concurrency: sync.concurrency,
    closedReason,
    nowMs,
    nowUs: () => state.clock.nowUs(),
    random: Math.random,
    log: options.log,
  })
}

/** Returns why the settings do not allow sending now; null if they do. */
export function closedReasonOf(
  { paused, windows }: Config['sync'],
  nowUs: number,
  timeZoneMin: number,
): string | null {
  if (paused) return 'paused by the configuration (sync.paused)'
  return isWithinWindows(windows, nowUs, timeZoneMin) ? null : 'outside sync.windows'
}

/** Returns the settings of the client of upstreams: times in ms, files by their absolute path. */
export function clientSettings(
  sync: Config['sync'],
  version: string,
): ClientSettings & { allowInsecure: readonly string[] } {
  return {
    idleTimeoutMs: sync.idleTimeoutS * 1000,
    connectTimeoutMs: sync.connectTimeoutS * 1000,
    maxReplyBytes: sync.replyBytes,
    allowPrivate: sync.allowPrivate,
    allowLoopback: sync.allowLoopback,
    allowInsecure: sync.allowInsecure,
    caFile: sync.caFile === undefined ? undefined : path.resolve(sync.caFile),
    userAgent: `fieldgate/${version}`,
  }
}
