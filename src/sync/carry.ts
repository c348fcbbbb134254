import type { TransferRecord } from '../storage/models/transfers.js'
import type { Progress } from './attempt.js'
import { type Engine, notify } from './engine.js'
import { type AttemptFault, classify } from './faults.js'
import { type LaneState, noteFailure, noteSuccess } from './lanes.js'

/** An attempt as the scheduler starts it. */
interface Carried {
  lane: LaneState
  transfer: TransferRecord
  signal: AbortSignal
  progress: Progress
}

/** Runs one attempt and records its outcome. Does not throw. */
export async function carry(engine: Engine, carried: Carried): Promise<void> {
  const { transfer, signal } = carried
  try {
    await attempt(engine, carried)
  } catch (error) {
    try {
      await recordFailure(engine, carried, classify(signal.aborted ? signal.reason : error))
    } catch (fault) {
      engine.unrecorded.add(transfer.transferId)
      engine.log.warn({ transfer: transfer.transferId, err: fault }, 'a failed transfer was not recorded')
    }
  }
}

async function attempt(engine: Engine, { lane, transfer, signal, progress }: Carried): Promise<void> {
  const { transferId, kind, sizeBytes, bytesSent } = transfer
  const startMs = engine.nowMs()
  engine.metrics.count('attempts')
  const answer = await engine.runner.run(transfer, signal, progress)
  if (answer !== null) await engine.transfers.deliver(transferId, answer)
  noteSuccess(lane, transferId)
  engine.metrics.count('delivered')
  // no test: the row of a transfer that has just been delivered is there
  engine.metrics.addSaved(kind, (await engine.transfers.find(transferId))?.savedBytes ?? 0)
  // bytes sent twice, or not at all because the upstream had them, say nothing about the link
  const carriedBytes = Math.min(progress.movedBytes, (sizeBytes ?? progress.movedBytes) - bytesSent)
  const rate = engine.metrics.measure(carriedBytes, engine.nowMs() - startMs)
  if (rate !== undefined) await engine.control.setRate(rate)
  engine.log.info({ transfer: transferId, kind, bytes: progress.movedBytes }, 'transfer delivered')
  await notify(engine, transferId, null)
}

async function recordFailure(engine: Engine, carried: Carried, fault: AttemptFault): Promise<void> {
  const { transferId, upstreamId } = carried.transfer
  if (fault.scope === 'stopped') {
    await engine.transfers.putBack(transferId, null, null) // leaves a cancelled one, which is failed already
  } else {
    if (fault.status !== undefined) engine.runner.forgetPeer(upstreamId)
    engine.metrics.countFault(fault.name)
    if (fault.scope === 'final') await giveUp(engine, carried, fault)
    else await retryLater(engine, carried, fault)
  }
  await notify(engine, transferId, fault)
  // a caller asks again and again until there is a model: each answer would leave a row
  if (fault.name === 'NO_AGGREGATED_MODEL') await engine.transfers.discardFetch(transferId)
}

async function giveUp(engine: Engine, { lane, transfer }: Carried, fault: AttemptFault): Promise<void> {
  const { transferId, kind } = transfer
  await engine.transfers.fail(transferId, fault)
  lane.stuck.delete(transferId)
  engine.metrics.count('failed')
  const { name, message } = fault
  engine.log.warn({ transfer: transferId, kind, fault: name, reason: message }, 'transfer failed')
}

async function retryLater(
  engine: Engine,
  { lane, transfer, progress }: Carried,
  fault: AttemptFault,
): Promise<void> {
  const { transferId, kind, bytesSent } = transfer
  const hasProgressed = progress.doneBytes > bytesSent
  const failure = { transferId, fault, hasProgressed, nowMs: engine.nowMs() }
  const waitMs = noteFailure(lane, failure, engine.waits, engine.random)
  await engine.transfers.putBack(transferId, fault, engine.nowUs() + waitMs * 1000)
  const { name, message } = fault
  engine.log.info(
    { transfer: transferId, kind, fault: name, reason: message, waitMs },
    'transfer will be retried',
  )
}
