import { createGroupStore, type GroupDeps, type IntakeCounts } from './group.js'
import type { MqttClient, Received } from './mqtt/client.js'
import type { Timers } from './mqtt/timers.js'
import { createPayloadMemory, type KeptPayload, type PayloadMemory } from './payload-memory.js'

export interface IntakeDeps extends GroupDeps {
  readonly client: Pick<MqttClient, 'acknowledge' | 'isOpen' | 'pause' | 'resume'>
  /** most messages of a group */
  readonly groupRows: number
  /** longest time that a message waits for others, ms */
  readonly groupWaitMs: number
}

/** Takes messages, and acknowledges each when its rows, or the reason why it has none, are on disk. */
export interface Intake {
  take(message: Received): void
  readonly counts: Readonly<IntakeCounts>
  /** messages that are not acknowledged */
  waiting(): number
  /** time that the oldest of them has waited, s; 0 for none */
  lagS(): number
  /** why nothing is stored; null while messages are */
  fault(): string | null
  /** Waits for the group that is being stored; the broker repeats the other messages. */
  stop(): Promise<void>
}

/** A message that waits, and when it came. */
interface Waiting {
  readonly message: Received
  /** its payload */
  readonly kept: KeptPayload
  readonly atMs: number
}

/**
 * Bytes of messages that are held before the broker has to wait; it also waits while as many messages are held as a
 * group has. More would gain nothing, as their bytes wait in the connection: messages that live for longer than a group
 * become old objects, which V8 frees late.
 */
const MAX_WAITING_BYTES = 8 * 1024 * 1024

/**
 * Silence after which a group is taken for whole, ms: brokers send a window of messages, 20 by default, and wait for
 * their acknowledgements. Waiting for others would bound the rate to a window in `groupWaitMs`.
 */
const QUIET_MS = 2

/** Creates the intake of a broker. */
export function createIntake(deps: IntakeDeps): Intake {
  const { client, timers } = deps
  const groups = createGroupStore(deps)
  const memory = createPayloadMemory()
  const queue: Waiting[] = []
  let inGroup: readonly Waiting[] = []
  let heldBytes = 0
  let timer: unknown
  let isPaused = false
  let isStopped = false
  let running: Promise<void> | undefined

  /** Has the broker wait while too much is held. */
  const regulate = () => {
    const held = queue.length + inGroup.length
    if (!isPaused && (held >= deps.groupRows || heldBytes >= MAX_WAITING_BYTES)) {
      isPaused = true
      client.pause()
    } else if (isPaused && held <= deps.groupRows / 2 && heldBytes <= MAX_WAITING_BYTES / 2) {
      isPaused = false
      client.resume()
    }
  }
  const storeNext = async () => {
    inGroup = queue.splice(0, deps.groupRows)
    // the broker repeats what an earlier connection brought
    const live = inGroup
      .map(({ message }) => message)
      .filter((message) => message.qos === 0 || client.isOpen(message))
    if (await groups.store(live)) client.acknowledge(live)
    heldBytes -= releaseAll(memory, inGroup)
    inGroup = []
    running = undefined
    regulate()
    plan()
  }
  const begin = () => {
    timers.clear(timer)
    timer = undefined
    if (running === undefined && queue.length > 0 && !isStopped) running = storeNext()
  }
  /** Begins a group when it is full, when no message has come for a moment, or its first has waited long enough. */
  const plan = () => {
    if (queue.length >= deps.groupRows) return begin()
    if (queue.length === 0 || running !== undefined || timer !== undefined) return
    timer = timers.set(look, Math.min(QUIET_MS, deps.groupWaitMs))
  }
  const look = () => {
    timer = undefined
    const [first, last] = [queue[0], queue.at(-1)]
    if (first === undefined || last === undefined || running !== undefined) return
    const nowMs = timers.nowMs()
    if (nowMs - last.atMs >= QUIET_MS || nowMs - first.atMs >= deps.groupWaitMs) begin()
    else plan()
  }
  return {
    take(message) {
      const kept = memory.keep(message.payload)
      queue.push({ message: { ...message, payload: kept.bytes }, kept, atMs: timers.nowMs() })
      heldBytes += kept.bytes.length
      regulate()
      plan()
    },
    counts: groups.counts,
    waiting: () => queue.length + inGroup.length,
    lagS: () => lagOf(inGroup[0] ?? queue[0], timers),
    fault: () => groups.fault(),
    async stop() {
      isStopped = true
      timers.clear(timer)
      groups.stop()
      await running
    },
  }
}

/** Releases the payloads of a group. @returns their bytes */
function releaseAll(memory: PayloadMemory, group: readonly Waiting[]): number {
  let bytes = 0
  for (const { kept } of group) {
    bytes += kept.bytes.length
    memory.release(kept)
  }
  return bytes
}

/** Time that a message has waited, s; 0 for none. */
function lagOf(oldest: Waiting | undefined, timers: Timers): number {
  return oldest === undefined ? 0 : (timers.nowMs() - oldest.atMs) / 1000
}
