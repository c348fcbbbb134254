import type { Family } from '../../http/metrics.js'
import { labelled } from './family.js'

/**
 * Names of `ModelServices.metrics` → name, help and type of a family. Names that are not listed are not
 * published.
 */
const FAMILIES: Record<string, [name: string, help: string, type: Family['type']]> = {
  models: ['models', 'Models that are listed', 'gauge'],
  model_bytes: ['model_bytes', 'Bytes of the listed models', 'gauge'],
  models_damaged: ['models_damaged', 'Models whose bytes are damaged', 'gauge'],
  models_quarantined: ['models_quarantined', 'Damaged rows that are hidden', 'gauge'],
  damage_found: ['damage_found_total', 'Damaged models found since the start', 'counter'],
  transfers_queued: ['outbox_queued', 'Transfers that wait', 'gauge'],
  transfers_sending: ['outbox_sending', 'Transfers that are being sent', 'gauge'],
  transfers_failed: ['outbox_failed', 'Transfers that failed permanently', 'gauge'],
  transfer_bytes_waiting: ['outbox_bytes', 'Bytes that wait', 'gauge'],
  transfer_oldest_s: ['outbox_oldest_seconds', 'Age of the oldest transfer that waits', 'gauge'],
  sync_open: ['outbox_open', '1 when sending is allowed now', 'gauge'],
  attempts: ['sync_attempts_total', 'Attempts to send or fetch a transfer', 'counter'],
  delivered: ['sync_delivered_total', 'Transfers delivered', 'counter'],
  failed: ['sync_failed_total', 'Transfers given up', 'counter'],
  bytes_sent: ['sync_sent_bytes_total', 'Bytes sent upstream', 'counter'],
  bytes_fetched: ['sync_fetched_bytes_total', 'Bytes fetched from upstream', 'counter'],
  bytes_saved_sending: [
    'sync_saved_sent_bytes_total',
    'Bytes of delivered models that were not sent: the upstream had them, or a base of them',
    'counter',
  ],
  bytes_saved_fetching: [
    'sync_saved_fetched_bytes_total',
    'Bytes of fetched models that were not fetched: they, or a base of them, were here',
    'counter',
  ],
}

/** Prefix of the counters of failed attempts, one for each reason. */
const FAULT = 'fault_'

/** Turns the figures of models and transfers into families. */
export function outboxFamilies(figures: Readonly<Record<string, number>>): Family[] {
  const faults = Object.entries(figures).filter(([name]) => name.startsWith(FAULT))
  const byReason = Object.fromEntries(faults.map(([name, count]) => [name.slice(FAULT.length), count]))
  const plain = Object.entries(FAMILIES).map(([key, [name, help, type]]) => ({
    name: `fieldgate_${name}`,
    help,
    type,
    samples: [{ value: figures[key] ?? 0 }],
  }))
  const help = 'Failed attempts by reason'
  return [
    ...plain,
    labelled({ name: 'fieldgate_sync_faults_total', help, type: 'counter' }, 'fault', byReason),
  ]
}
