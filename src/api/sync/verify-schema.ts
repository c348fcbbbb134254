import { z } from 'zod'
import { SHA256, UUID } from '../../feeds/batch/format.js'
import { FeedId, SentSumForm } from './schema.js'

export const VerifyParams = z.strictObject({
  feed: FeedId,
  recount: z
    .boolean()
    .default(false)
    .describe('count all rows again on both sides, instead of trusting what was kept with each write'),
})

const DayRows = z.strictObject({
  rows: z.int(),
  digest: z.string().describe('sum of the SHA-256 of the rows modulo 2^256, 64 hex digits, little endian'),
})

const Days = z.array(
  z.strictObject({
    day: z.string().describe('UTC day of the last write at the origin; 1970-01-01 for rows of 0.1.0'),
    origin: z.string().describe('node at which the rows were first put'),
    here: DayRows,
    there: DayRows,
  }),
)

export const Verified = z.strictObject({
  equal: z.boolean().describe('no day differs but those that cannot be compared any more'),
  days: Days.describe('days that differ'),
  removed_days: Days.describe(
    'days that differ and cannot be compared: a node has removed rows of them by its retention',
  ),
})

const Instant = z.union([
  z.string().max(100),
  z.strictObject({ _type: z.literal('datetime'), val: z.string() }),
])

export const ResendParams = z.strictObject({
  feed: FeedId,
  from: Instant.describe('rows go whose last write at their origin was on a UTC day from here'),
  to: Instant.describe('up to here; an instant at midnight leaves out the day that begins then'),
})

export const Resent = z.strictObject({
  rows: z.int().describe('rows that go once more'),
  from_day: z.string().describe('first UTC day; earlier than asked where an earlier request is not done'),
  to_day: z.string().describe('last UTC day'),
})

const NodeId = z.string().regex(UUID, 'expected a UUID')

export const TableSumsParams = z.strictObject({
  node: NodeId.describe('node that sends'),
  feed: FeedId,
  table: NodeId.describe('id of the table there'),
  epoch: z.int().min(0),
  digest: z.string().regex(SHA256).describe('of the definition'),
  origins: z.array(NodeId).max(100_000).describe('nodes whose rows are compared'),
  recount: z.boolean().default(false),
})

export const TableSumsResult = z.strictObject({
  node: z.string().describe('node id of this gateway'),
  cursor: z.int().describe('change up to which the sums hold the rows of the feed'),
  sums: z.array(SentSumForm),
})
