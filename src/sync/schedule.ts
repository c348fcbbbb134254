import type { TransferRecord } from '../storage/models/transfers.js'
import type { Progress } from './attempt.js'
import { carry } from './carry.js'
import { closedReasonOf, type Engine, endWaits } from './engine.js'
import { stopped } from './faults.js'
import { type LaneState, laneKey, newLane, nextOf } from './lanes.js'

/** Longest time between two runs of the scheduler: changes made by other programs are noticed within it. */
export const POLL_MS = 1000
/** Shortest time between two runs of the scheduler. */
const MIN_POLL_MS = 5
/** Queued transfers of a lane from which the next one is chosen. */
const LOOKAHEAD = 64

/** Starts the attempts that may start now. Returns the time until the next call, ms. */
export async function schedule(engine: Engine): Promise<number> {
  await noticeOthers(engine)
  for (const transferId of engine.unrecorded) {
    await engine.transfers.putBack(transferId, null, null)
    engine.unrecorded.delete(transferId)
  }
  if (engine.isStopped || closedReasonOf(engine) !== null) return POLL_MS
  for (const lane of await engine.transfers.lanes()) {
    const key = laneKey(lane)
    if (!engine.lanes.has(key)) engine.lanes.set(key, newLane(lane))
  }
  const nowMs = engine.nowMs()
  const ready = [...engine.lanes.values()]
    .filter((lane) => !lane.isRunning && lane.waitUntilMs <= nowMs)
    .sort((a, b) => a.lastRunMs - b.lastRunMs)
  for (const lane of ready) {
    if (engine.isStopped || engine.active.size >= engine.concurrency) break
    await startNext(engine, lane)
  }
  const waits = [...engine.lanes.values()]
    .filter((lane) => !lane.isRunning && lane.waitUntilMs > nowMs)
    .map((lane) => lane.waitUntilMs - engine.nowMs())
  return Math.max(MIN_POLL_MS, Math.min(POLL_MS, ...waits))
}

/** Notices that a command-line program beside this gateway has paused, resumed, retried or cancelled. */
async function noticeOthers(engine: Engine): Promise<void> {
  const changes = await engine.control.changeCount()
  if (changes === engine.seen.changes) return
  const wakes = await engine.control.wakeCount()
  engine.isPaused = await engine.control.isPaused()
  if (wakes !== engine.seen.wakes) endWaits(engine)
  for (const [transferId, running] of engine.active) {
    const transfer = await engine.transfers.find(transferId)
    if (transfer?.state === 'failed') running.abort.abort(stopped('cancelled'))
  }
  engine.seen = { changes, wakes }
}

async function startNext(engine: Engine, lane: LaneState): Promise<void> {
  // more than the first one only if some were set aside
  const waiting = await engine.transfers.waiting(lane.lane, lane.stuck.size === 0 ? 1 : LOOKAHEAD)
  if (waiting.length === 0) {
    engine.lanes.delete(laneKey(lane.lane))
    return
  }
  const next = nextOf(lane, waiting, engine.nowMs())
  if ('notBeforeMs' in next) {
    lane.waitUntilMs = next.notBeforeMs
    return
  }
  if (await engine.transfers.begin(next.transferId)) start(engine, lane, next)
}

function start(engine: Engine, lane: LaneState, transfer: TransferRecord): void {
  const { transferId, kind, bytesSent } = transfer
  const progress: Progress = {
    doneBytes: bytesSent,
    movedBytes: 0,
    onMoved(bytes) {
      progress.movedBytes += bytes
      engine.metrics.addBytes(kind, bytes)
    },
  }
  lane.isRunning = true
  lane.lastRunMs = engine.nowMs()
  const abort = new AbortController()
  const done = carry(engine, { lane, transfer, signal: abort.signal, progress }).finally(() => {
    engine.active.delete(transferId)
    lane.isRunning = false
    engine.wake()
  })
  engine.active.set(transferId, { abort, progress, done })
}
