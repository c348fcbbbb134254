import type { Family } from '../../http/metrics.js'
import type { LineStatus } from '../../ingest/line.js'
import { labelled } from './family.js'

/** Families of a broker: name, help, type, value. */
const FAMILIES: readonly (readonly [string, string, Family['type'], (status: LineStatus) => number])[] = [
  ['connected', '1 while the broker is connected', 'gauge', ({ isConnected }) => (isConnected ? 1 : 0)],
  [
    'subscriptions',
    'Topic filters that the broker has granted',
    'gauge',
    ({ subscriptions }) => subscriptions,
  ],
  [
    'faults',
    'What keeps messages from coming or rows from being stored',
    'gauge',
    ({ faults }) => faults.length,
  ],
  ['messages_total', 'Messages that were read', 'counter', ({ messages }) => messages],
  ['rows_total', 'Rows of messages that were stored', 'counter', ({ rows }) => rows],
  ['repeats_total', 'Of those, rows whose key existed', 'counter', ({ repeats }) => repeats],
  ['rejects_total', 'Messages that could not be stored', 'counter', ({ rejects }) => rejects],
  ['reconnects_total', 'Connections after the first', 'counter', ({ reconnects }) => reconnects],
  [
    'lost_sessions_total',
    'Times that the broker had forgotten the session',
    'counter',
    ({ lostSessions }) => lostSessions,
  ],
  ['waiting', 'Messages that wait to be stored', 'gauge', ({ waiting }) => waiting],
  ['lag_seconds', 'Time that the oldest of them has waited', 'gauge', ({ lagS }) => lagS],
  ['published_total', 'Messages that the broker has taken', 'counter', ({ published }) => published],
  ['unpublished', 'Changes and answers that wait to be published', 'gauge', ({ unpublished }) => unpublished],
]

/** Returns the families of the brokers; the settings bound their number. */
export function ingestFamilies(brokers: ReadonlyMap<string, LineStatus>): Family[] {
  if (brokers.size === 0) return []
  return FAMILIES.map(([name, help, type, of]) => {
    const values = Object.fromEntries([...brokers].map(([broker, status]) => [broker, of(status)]))
    return labelled({ name: `fieldgate_ingest_${name}`, help, type }, 'broker', values)
  })
}
