import type { BadCall, BadCalls, Standing } from './types.js'

const NOBODY = '00000000-0000-4000-8000-000000000000'
/** A node that has offered the table `x` before, with epoch 5. */
export const OFFERED = {
  node: '11111111-1111-4111-8111-111111111111',
  feed: '22222222-2222-4222-8222-222222222222',
  table: '33333333-3333-4333-8333-333333333333',
  epoch: 5,
  start: 0,
  definition: {
    ...{ data_name: 'x', schema: 'event', unique_columns: ['k'] },
    columns: [
      { name: 'k', udt_name: 'int4', is_nullable: false, column_default: null, length: null, srid: null },
      { name: 'name', udt_name: 'varchar', is_nullable: true, column_default: null, length: 5, srid: null },
    ],
  },
}

/** Citation that another node has offered before. */
export const CITED = {
  ...{
    node: OFFERED.node,
    origin: OFFERED.node,
    long_form: 'c_1700000000',
    short_form: 'c',
    dataset_name: 'd',
  },
  ...{ dataset_realname: 'provenance.prov_1', created_at_us: 1.7e15, transaction_time_us: 1.6e15 },
  ...{ checksum: 'ab'.repeat(32), row_count: 2, key_columns: [] },
  columns: [{ name: 'k', data_type: 'int', type_text: 'integer', nullable: false }],
}

/**
 * The upstream `up` has feeds of the table `x`, and of a table that was dropped; nobody listens there.
 */
export function syncBadCalls({ nodeId, feedId, goneFeedId, citedFeedId }: Standing): BadCalls {
  const upstream = { name: 'new', endpoint: 'https://up.example', apikey: 'k', secret: 's' }
  const feed = { table: 'cited', upstream: 'up' }
  const asked = { node: OFFERED.node, feed: OFFERED.feed, table: 'x', from: 'all', start: null }
  const [k, name] = OFFERED.definition.columns
  const defined = (more: object) => ({ ...OFFERED, definition: { ...OFFERED.definition, ...more } })
  const days = { from: '2025-01-01', to: '2025-01-02' }
  const sums = {
    ...{ node: OFFERED.node, feed: OFFERED.feed, table: OFFERED.table, epoch: OFFERED.epoch },
    ...{ digest: 'a'.repeat(64), origins: [OFFERED.node] },
  }
  const ofFeed: readonly BadCall[] = [
    [{ feed: 'x' }, 'INVALID_PARAMS', /\$\.feed/],
    [{ feed: NOBODY }, 'UNKNOWN_FEED', /0000/],
  ]
  return {
    'sync.create_upstream': [
      [{ ...upstream, name: 'a b' }, 'INVALID_PARAMS', /\$\.name/],
      [{ ...upstream, secret: 'a\nb' }, 'INVALID_PARAMS', /\$\.secret/],
      [{ ...upstream, endpoint: 'http://up.example' }, 'BAD_ENDPOINT', /https/],
      [{ ...upstream, name: 'up' }, 'UPSTREAM_EXISTS', /up/],
    ],
    'sync.list_upstreams': [],
    'sync.delete_upstream': [
      [{ name: 'nobody' }, 'UNKNOWN_UPSTREAM', /nobody/],
      [{ name: 'up' }, 'UPSTREAM_IN_USE', /feeds to up of/],
    ],
    'sync.create_feed': [
      [{ upstream: 'up' }, 'INVALID_PARAMS', /\$\.table/],
      [{ ...feed, table: 'nobody' }, 'UNKNOWN_TABLE', /nobody/],
      [{ ...feed, upstream: 'nobody' }, 'UNKNOWN_UPSTREAM', /nobody/],
      [{ ...feed, table: 'x' }, 'FEED_EXISTS', /x has a feed to up/],
      [{ ...feed, table: 'f' }, 'TABLE_NOT_SENDABLE', /photo holds files/],
      [{ ...feed, direction: 'sideways' }, 'INVALID_PARAMS', /\$\.direction/],
      [{ ...feed, direction: 'down', upstream: 'nobody' }, 'UNKNOWN_UPSTREAM', /nobody/],
      [{ upstream: 'up', citation: 'nobody' }, 'UNKNOWN_CITATION', /nobody/],
      [{ ...feed, citation: 'c' }, 'INVALID_PARAMS', /\$\.table: found table beside a citation/],
      [{ ...feed, conds: { '=': ['nobody', 1] } }, 'BAD_CONDITION', /nobody/],
      [{ ...feed, columns: ['nobody'] }, 'INVALID_PARAMS', /\$\.columns/],
      [{ ...feed, priority: 10 }, 'INVALID_PARAMS', /\$\.priority/],
      [{ ...feed, windows: ['25:00-01:00'] }, 'INVALID_PARAMS', /\$\.windows/],
      [{ ...feed, from: 'yesterday' }, 'INVALID_PARAMS', /\$\.from/],
    ],
    'sync.list_feeds': [],
    'sync.update_feed': [
      ...ofFeed,
      [{ feed: feedId, priority: -1 }, 'INVALID_PARAMS', /\$\.priority/],
      [{ feed: feedId, conds: { '=': ['nobody', 1] } }, 'BAD_CONDITION', /nobody/],
      [{ feed: goneFeedId, conds: { '=': ['k', 1] } }, 'UNKNOWN_TABLE', /gone/],
    ],
    'sync.delete_feed': ofFeed,
    'sync.verify': [
      ...ofFeed,
      [{ feed: goneFeedId }, 'UNKNOWN_TABLE', /gone/],
      [{ feed: citedFeedId }, 'NOT_IN_THIS_VERSION', /sends a citation/],
    ],
    'sync.resend': [
      [{ feed: 'x', ...days }, 'INVALID_PARAMS', /\$\.feed/],
      [{ feed: NOBODY, ...days }, 'UNKNOWN_FEED', /0000/],
      [{ feed: feedId, from: 'yesterday', to: days.to }, 'INVALID_PARAMS', /\$\.from/],
      [{ feed: feedId, from: days.to, to: days.from }, 'INVALID_PARAMS', /before from/],
      [{ feed: goneFeedId, ...days }, 'UNKNOWN_TABLE', /gone/],
      [{ feed: citedFeedId, ...days }, 'NOT_IN_THIS_VERSION', /sends a citation, whose checksum/],
    ],
    'sync.table_sums': [
      [{ ...sums, node: 'x' }, 'INVALID_PARAMS', /\$\.node/],
      [{ ...sums, node: nodeId }, 'LOOP', /this gateway/],
      [{ ...sums, node: NOBODY }, 'FORBIDDEN', /sends for the node 1111/],
      [{ ...sums, epoch: 4 }, 'UNKNOWN_FEED', /was not offered/],
    ],
    'sync.offer_table': [
      [{ ...OFFERED, node: 'x' }, 'INVALID_PARAMS', /\$\.node/],
      [{ ...OFFERED, node: nodeId }, 'LOOP', /this gateway/],
      [{ ...OFFERED, node: NOBODY }, 'FORBIDDEN', /sends for the node 1111/],
      [{ ...OFFERED, epoch: 4 }, 'STALE_EPOCH', /epoch 4/],
      [defined({ columns: [k] }), 'TABLE_DIFFERS', /name \(the sender has none, the receiver varchar\(5\)\)/],
      [defined({ columns: [k, { ...name, udt_name: 'file' }] }), 'TABLE_NOT_SENDABLE', /name holds files/],
      [defined({ unique_columns: ['nobody'] }), 'INVALID_PARAMS', /definition/],
    ],
    'sync.offer_citation': [
      [{ ...CITED, node: nodeId, origin: nodeId }, 'LOOP', /this gateway/],
      [{ ...CITED, checksum: 'x' }, 'INVALID_PARAMS', /\$\.checksum/],
      [{ ...CITED, checksum: 'cd'.repeat(32) }, 'CITATION_DIFFERS', /other rows before/],
      [{ ...CITED, long_form: 'c' }, 'INVALID_PARAMS', /expected c_ and a time in epoch seconds/],
      [{ ...CITED, columns: [{ ...CITED.columns[0], data_type: 'what' }] }, 'INVALID_PARAMS', /what/],
    ],
    'sync.ask_table': [
      [{ ...asked, from: 'yesterday' }, 'INVALID_PARAMS', /\$\.from/],
      [{ ...asked, node: nodeId }, 'LOOP', /this gateway/],
      [{ ...asked, node: NOBODY }, 'FORBIDDEN', /sends for the node 1111/],
      [{ ...asked, table: 'nobody' }, 'UNKNOWN_TABLE', /nobody/],
      [{ ...asked, table: 'f' }, 'TABLE_NOT_SENDABLE', /photo holds files/],
      [{ ...asked, conds: { '=': ['nobody', 1] } }, 'BAD_CONDITION', /nobody/],
      [{ ...asked, columns: ['nobody'] }, 'INVALID_PARAMS', /\$\.columns/],
    ],
  }
}
