import type { BrokerSettings } from '../config/ingest.js'
import type { IngestStore } from '../storage/ingest.js'
import { topicOf } from './topic-template.js'

/** A run of a module that has ended. */
export interface ModuleAnswer {
  /** name of the module, and that of its folder */
  readonly names: readonly string[]
  readonly method: string
  readonly runId: string
  readonly endedAtUs: number
  /** null for one that succeeded */
  readonly error: { readonly name: string; readonly message: string } | null
}

/** Answers that wait for a broker; beyond them the oldest are removed. */
const MAX_WAITING = 10_000

/**
 * Puts the answer of a module into the outboxes of the brokers whose settings publish it, from which it goes at least once.
 *
 * @returns number of the messages
 */
export async function publishAnswer(
  store: Pick<IngestStore, 'addToOutbox'>,
  brokers: readonly BrokerSettings[],
  answer: ModuleAnswer,
): Promise<number> {
  const { names, method, runId, endedAtUs, error } = answer
  let count = 0
  for (const { name: broker, publish } of brokers)
    for (const rule of publish) {
      if (rule.module === undefined || !names.includes(rule.module)) continue
      if (rule.method !== undefined && rule.method !== method) continue
      const values = { module: rule.module, method }
      const ended = new Date(endedAtUs / 1000).toISOString()
      const payload = Buffer.from(JSON.stringify({ ...values, run_id: runId, ended_at: ended, error }))
      const message = { topic: topicOf(rule.topic, values), payload, qos: rule.qos, isRetained: rule.retain }
      await store.addToOutbox(broker, message, MAX_WAITING)
      count++
    }
  return count
}
