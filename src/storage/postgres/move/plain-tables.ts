import { readSum } from '../../exchange/row-digest.js'
import type { MovedValue } from '../../move.js'
import type { Value } from '../connection/database.js'
import { readReportFacts } from '../fleet/report-facts.js'
import { sumNumber } from '../tables/digest-sums.js'

/** Row of a data directory by the names of its columns. */
export type PlainRow = Readonly<Record<string, MovedValue>>

/** A table that both engines have, under the same names. */
export interface PlainTable {
  readonly name: string
  /** columns of both */
  readonly columns: readonly string[]
  readonly key: readonly string[]
  /** columns that may hold any text */
  readonly anyText?: readonly string[]
  /** column whose numbers the database gives */
  readonly identity?: string
  /** columns that are not stored in a data directory; those that are random in brackets of `isRandom` */
  readonly added?: Readonly<Record<string, (row: PlainRow, newId: () => string) => Value>>
  /** columns whose values are made here */
  readonly changed?: Readonly<Record<string, (value: MovedValue) => MovedValue>>
}

const madeBy = { made_by: (_row: PlainRow, newId: () => string) => newId() }
const json = (value: MovedValue | undefined): unknown =>
  typeof value === 'string' ? JSON.parse(value) : null
const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Facts of the last report of a gateway. */
const fact =
  (of: (facts: ReturnType<typeof readReportFacts>) => Value) =>
  ({ last_report: report = null }: PlainRow): Value =>
    of(readReportFacts(json(report), String(report ?? '')))

/** Tables in an order in which no row comes before one that it names. */
export const PLAIN_TABLES: readonly PlainTable[] = [
  {
    name: 'api_key',
    columns: [
      'key_id',
      'name',
      'scopes',
      'created_at_us',
      'last_used_at_us',
      'revoked_at_us',
      'expires_at_us',
    ],
    key: ['key_id'],
  },
  {
    name: 'api_key_secret',
    columns: ['digest', 'key_id', 'created_at_us', 'expires_at_us'],
    key: ['digest'],
  },
  {
    name: 'session',
    columns: [
      ...['session_id', 'token_hash', 'key_id', 'created_at_us', 'expires_at_us', 'closed_at_us'],
      'last_used_at_us',
    ],
    key: ['session_id'],
  },
  { name: 'node_key', columns: ['use', 'public_key', 'private_key', 'created_at_us'], key: ['use'] },
  {
    name: 'node_peer',
    columns: ['node_id', 'name', 'signing_key', 'exchange_key', 'relay', 'endpoint', 'added_at_us'],
    key: ['node_id'],
  },
  { name: 'fleet_token', columns: ['key_id', 'profile', 'max_uses', 'uses'], key: ['key_id'] },
  {
    name: 'fleet_profile',
    columns: ['name', 'version', 'digest', 'body', 'created_at_us', 'created_by'],
    key: ['name', 'version'],
  },
  {
    name: 'fleet_member',
    columns: [
      ...['node_id', 'name', 'profile', 'key_id', 'signing_key', 'exchange_key', 'state', 'joined_at_us'],
      ...['ended_at_us', 'applied_digest', 'tried_digest', 'tried_at_us', 'outcome', 'last_seen_us'],
      'last_report',
    ],
    key: ['node_id'],
    added: {
      is_ready: fact(({ isReady }) => isReady),
      release: fact(({ release }) => release),
      has_rollback: fact(({ hasRollback }) => hasRollback),
      oldest_s: fact(({ oldestS }) => oldestS),
      clock_us: fact(({ clockUs }) => clockUs),
      has_finding: fact(({ hasFinding }) => hasFinding),
      lng: fact(({ position: [lng] }) => lng),
      lat: fact(({ position: [, lat] }) => lat),
    },
  },
  { name: 'fleet_report', columns: ['node_id', 'slot', 'at_us', 'body'], key: ['node_id', 'slot'] },
  { name: 'key_node', columns: ['key_id', 'node_id'], key: ['key_id'] },
  { name: 'fleet_file', columns: ['sha256', 'name', 'size_bytes', 'added_at_us'], key: ['sha256'] },
  {
    name: 'model_store',
    columns: ['store_id', 'name', 'long_form', 'created_at_us'],
    key: ['store_id'],
    identity: 'store_id',
    added: madeBy,
  },
  {
    name: 'model',
    columns: [
      ...[
        'seq',
        'model_id',
        'store_id',
        'kind',
        'description',
        'meta',
        'md5',
        'sha256',
        'size_bytes',
        'state',
      ],
      ...['hop_count', 'round', 'lng', 'lat', 'start_us', 'end_us', 'tenant_id', 'origin_node'],
      ...['origin_model_id', 'chain', 'deleted_at_us', 'damaged_at_us', 'quarantined'],
    ],
    key: ['seq'],
    identity: 'seq',
    anyText: ['kind', 'description', 'tenant_id', 'origin_node', 'origin_model_id'],
  },
  {
    name: 'model_origin',
    columns: ['origin_node', 'origin_model_id', 'store_id', 'model_id', 'answer'],
    key: ['origin_node', 'origin_model_id', 'store_id'],
    anyText: ['origin_node', 'origin_model_id'],
  },
  {
    name: 'model_signature',
    columns: ['seq', 'bundle', 'key_hint', 'verdict'],
    key: ['seq'],
    anyText: ['bundle'],
  },
  { name: 'released_blob', columns: ['sha256'], key: ['sha256'] },
  {
    name: 'upstream',
    columns: [
      ...[
        'upstream_id',
        'store_id',
        'endpoint',
        'apikey',
        'secret',
        'upstream_store',
        'alias',
        'description',
      ],
      ...['enabled', 'created_at_us', 'updated_at_us'],
    ],
    key: ['upstream_id'],
    identity: 'upstream_id',
    anyText: ['endpoint', 'apikey', 'upstream_store', 'alias', 'description'],
    added: madeBy,
  },
  {
    name: 'transfer',
    columns: [
      ...['transfer_id', 'kind', 'model_id', 'store_id', 'upstream_id', 'state', 'attempts', 'bytes_sent'],
      ...[
        'size_bytes',
        'next_attempt_us',
        'last_error',
        'last_error_name',
        'created_at_us',
        'finished_at_us',
      ],
      ...['may_be_received', 'resume_url', 'answer', 'delta', 'saved_bytes'],
    ],
    key: ['transfer_id'],
    identity: 'transfer_id',
    anyText: ['last_error', 'resume_url', 'answer'],
    // no attempt goes on
    changed: { state: (state) => (state === 'sending' ? 'queued' : state) },
    added: {
      answer_model_id: ({ answer = null }) => text(member(json(answer), 'model_id')),
      delta_bytes: ({ delta = null }) => Number(member(json(delta), 'sizeBytes')) || null,
    },
  },
  {
    name: 'sync_upstream',
    columns: ['name', 'endpoint', 'apikey', 'secret', 'created_at_us'],
    key: ['name'],
    added: madeBy,
  },
  {
    name: 'feed',
    columns: [
      ...['feed_id', 'data_name', 'direction', 'upstream', 'conds', 'columns', 'priority'],
      ...['max_bytes_per_second', 'windows', 'enabled', 'from_text', 'start', 'progress', 'created_at_us'],
    ],
    key: ['feed_id'],
  },
  {
    name: 'feed_set_aside',
    columns: ['feed_id', 'change', 'row_key', 'reason', 'at_us'],
    key: ['feed_id', 'change'],
    anyText: ['row_key', 'reason'],
  },
  {
    name: 'feed_resend',
    columns: ['feed_id', 'asked_at_us', 'from_day', 'to_day', 'row_count', 'sent', 'after_row'],
    key: ['feed_id'],
  },
  { name: 'key_table', columns: ['key_id', 'data_name'], key: ['key_id', 'data_name'] },
  {
    name: 'feed_asked',
    columns: ['key_id', 'feed_id', 'asked', 'asked_at_us', 'told'],
    key: ['key_id', 'feed_id'],
    added: {
      node: ({ asked = null }) => text(member(json(asked), 'node')),
      data_name: ({ asked = null }) => text(member(json(asked), 'dataName')),
    },
  },
  {
    name: 'bundle_written',
    columns: ['seq', 'bundle_id', 'node_id', 'written_at_us', 'contents', 'acknowledged_at_us'],
    key: ['seq'],
    identity: 'seq',
  },
  {
    name: 'bundle_applied',
    columns: ['node_id', 'bundle_id', 'epoch', 'seq', 'applied_at_us'],
    key: ['node_id', 'bundle_id'],
  },
  {
    name: 'bundle_news',
    columns: ['node_id', 'kind', 'about', 'news', 'first_seq'],
    key: ['node_id', 'kind', 'about'],
    anyText: ['about'],
  },
  { name: 'bundle_wish', columns: ['node_id', 'wishes'], key: ['node_id'] },
  { name: 'row_origin', columns: ['origin_id', 'node_id'], key: ['origin_id'], identity: 'origin_id' },
]

/** Rows that name loader tables, after these: cursors of the feeds of other nodes, rules, and notes of rows that are gone. */
export const OF_LOADER_TABLES: readonly PlainTable[] = [
  {
    name: 'feed_cursor',
    columns: ['sender', 'feed', 'sender_table', 'epoch', 'digest', 'cursor', 'table_id'],
    key: ['sender', 'feed'],
  },
  {
    name: 'loader_retention',
    columns: [
      ...['table_id', 'rule', 'removed', 'thinned', 'unsent', 'last_run_us', 'thin_from_us', 'thin_change'],
    ],
    key: ['table_id'],
  },
  {
    name: 'loader_removed_day',
    columns: ['table_id', 'origin_id', 'day', 'rows', 'sum'],
    key: ['table_id', 'origin_id', 'day'],
    changed: {
      sum: (sum) => (sum instanceof Uint8Array ? String(sumNumber(readSum(0, sum))) : null),
    },
  },
]
