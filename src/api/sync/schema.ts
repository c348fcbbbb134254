import { z } from 'zod'
import { TableDefinitionForm } from '../../feeds/batch/definition-form.js'
import { SHA256, UUID } from '../../feeds/batch/format.js'
import { Credential } from '../secret-text.js'

const Datetime = z.strictObject({ _type: z.literal('datetime'), val: z.string() })

/** Name of an upstream of feeds. */
export const UpstreamName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'expected 1 to 63 letters, digits or any of . _ -')
  .describe('name of an upstream of feeds')

// header values: what HTTP can carry

export const CreateUpstreamParams = z.strictObject({
  name: UpstreamName,
  endpoint: z
    .string()
    .min(1)
    .max(2000)
    .describe('base URL of the other gateway: https://host[:port][/prefix]'),
  apikey: Credential.describe(
    'API key for the other gateway: scope sync:write for feeds up, sync:read and granted tables for feeds down',
  ),
  secret: Credential.describe('secret of the key; encrypted at rest'),
})

export const UpstreamParams = z.strictObject({ name: UpstreamName })

export const UpstreamInfo = z.strictObject({
  name: z.string(),
  endpoint: z.string(),
  apikey: z.string(),
  created_at: Datetime,
})

export const FeedId = z.string().regex(UUID, 'expected the UUID of a feed').describe('id of a feed')

const Conds = z.unknown().describe('condition on rows, as of event data; absent or null for every row')
const Priority = z.int().min(0).max(9).describe('feeds with a larger number go first')
const Rate = z
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .describe('bytes per second of this feed; 0 for no limit besides sync.maxBytesPerSecond')
const Windows = z
  .array(z.string().regex(/^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/, 'expected HH:MM-HH:MM'))
  .max(24)
  .describe('local times in which it is sent, besides sync.windows; empty: always')

export const CreateFeedParams = z.strictObject({
  table: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('name of the table; of a feed down there, where it need not be registered here'),
  citation: z
    .string()
    .min(1)
    .max(300)
    .optional()
    .describe('name of a citation that is sent, once, in place of a table'),
  direction: z
    .enum(['up', 'down'])
    .default('up')
    .describe('up: rows go to the upstream; down: they come from it'),
  upstream: UpstreamName,
  conds: Conds.optional(),
  columns: z
    .array(z.string().max(63))
    .min(1)
    .max(1000)
    .nullish()
    .describe('columns that are sent, the unique key among them; absent or null for all'),
  priority: Priority.default(5),
  max_bytes_per_second: Rate.default(0),
  windows: Windows.default([]),
  from: z
    .union([z.literal(['now', 'all']), z.string().max(100), Datetime])
    .default('now')
    .describe('now: rows put from now on; all: every row; an instant: those that start then or later, too'),
})

/** Absent members keep their values. */
export const UpdateFeedParams = z.strictObject({
  feed: FeedId,
  conds: Conds.optional(),
  priority: Priority.optional(),
  max_bytes_per_second: Rate.optional(),
  windows: Windows.optional(),
  enabled: z.boolean().optional(),
})

export const FeedParams = z.strictObject({ feed: FeedId })

const SetAside = z.strictObject({
  rows: z.int().describe('rows that the receiver refused for good'),
  last: z
    .array(z.strictObject({ change: z.int(), row_key: z.string(), reason: z.string(), at: Datetime }))
    .describe('the last ten'),
})

export const FeedInfo = z.strictObject({
  feed: z.string(),
  table: z.string().describe('name of the table; long form of a citation'),
  citation: z.string().nullable().describe('long form of the citation that is sent; null for a table'),
  direction: z.enum(['up', 'down']),
  upstream: z.string(),
  conds: z.unknown(),
  columns: z.array(z.string()).nullable(),
  priority: z.int(),
  max_bytes_per_second: z.int(),
  windows: z.array(z.string()),
  from: z.string(),
  enabled: z.boolean(),
  state: z
    .enum(['disabled', 'stopped', 'closed', 'sending', 'waiting', 'idle'])
    .describe(
      'stopped: until update_feed, for the reason in last_error; closed: sending is paused or outside its windows; sending: or fetching',
    ),
  cursor: z.int().describe('last change that the receiver has'),
  last_change: z.int().describe('last change of the table: here, or at the upstream of a feed down'),
  rows_behind: z
    .int()
    .describe('changes not sent, or not fetched; of a row that changed several times the last one travels'),
  bytes_behind: z.int().nullable().describe('estimate by the rows sent so far; null before the first'),
  oldest_s: z.int().nullable().describe('age of the oldest row not sent, seconds; null when none waits'),
  rows_sent: z.int().describe('rows that were sent, or that a feed down has fetched'),
  bytes_sent: z.int(),
  bytes_per_second: z.int().nullable().describe('rate of the last batches; null before the first'),
  time_left_s: z.int().nullable(),
  next_try_s: z.int().nullable().describe('time to the next try, seconds; null when none is planned'),
  last_error: z.string().nullable(),
  set_aside: SetAside,
  created_at: Datetime,
})

export const OfferTableParams = z.strictObject({
  node: z.string().regex(UUID, 'expected a UUID').describe('node that sends'),
  feed: FeedId,
  table: z.string().regex(UUID, 'expected a UUID').describe('id of the table there'),
  epoch: z
    .int()
    .min(0)
    .describe('incarnation of the change numbers there: each restore begins a greater one'),
  start: z.int().min(0).describe('change after which a feed begins that is new here'),
  definition: TableDefinitionForm,
})

export const OfferTableResult = z.strictObject({
  node: z.string().describe('node id of this gateway'),
  cursor: z.int().describe('change after which the feed goes on'),
})

const FeedStartForm = z.strictObject({
  tableUuid: z.string().regex(UUID, 'expected a UUID').describe('table for which the numbers hold'),
  afterChange: z.int().min(0).describe('rows that changed later travel'),
  untilChange: z.int().min(0),
  fromUs: z
    .int()
    .nullable()
    .describe('rows that changed up to untilChange travel when they start at or after it, µs UTC'),
})

/** Rows of one origin and day, as nodes tell each other. */
export const SentSumForm = z.strictObject({
  origin: z.string(),
  day: z.int().describe('days since 1970'),
  rows: z.int(),
  digest: z.string(),
  removed: z
    .int()
    .optional()
    .describe('rows that retention has removed; `rows` and `digest` have them where their digests are known'),
})

export const AskTableParams = z.strictObject({
  node: z.string().regex(UUID, 'expected a UUID').describe('node that asks'),
  feed: FeedId,
  table: z.string().min(1).max(200).describe('name of the table'),
  columns: z.array(z.string().max(63)).min(1).max(1000).nullish().describe('absent or null for all'),
  conds: Conds.optional(),
  from: z.union([z.literal(['now', 'all']), z.int()]).describe('now, all, or an instant in µs UTC'),
  start: FeedStartForm.nullable().describe('as it was answered at the first time; null then'),
  sums: z
    .enum(['kept', 'recount'])
    .optional()
    .describe('answers the sums of the rows that the feed gives; `recount` counts them again first'),
  after: z
    .int()
    .min(0)
    .optional()
    .describe('with `sums`: change up to which the node that asks has the rows of the feed'),
})

export const AskTableResult = z.strictObject({
  node: z.string().describe('node id of this gateway'),
  table: z.string().describe('id of the table here'),
  epoch: z.int().describe('incarnation of the change numbers here'),
  definition: TableDefinitionForm,
  start: FeedStartForm,
  last: z.int().describe('last change of the table'),
  sums: z.array(SentSumForm).optional().describe('as of `last`; without rows of the node that asks'),
  scanned: z
    .int()
    .optional()
    .describe('change up to which the feed gives no row after `after`; absent without `after`'),
})

const CitedColumn = z.strictObject({
  name: z.string().max(63),
  data_type: z.string().max(100),
  type_text: z.string().max(100).describe('as the canonical text has it'),
  nullable: z.boolean(),
})

const Us = z.int().min(0)

export const OfferCitationParams = z.strictObject({
  node: z.string().regex(UUID, 'expected a UUID').describe('node that sends'),
  origin: z.string().regex(UUID, 'expected a UUID').describe('node that made the citation'),
  long_form: z.string().min(1).max(300),
  short_form: z.string().min(1).max(200),
  dataset_name: z.string().max(200),
  dataset_realname: z.string().max(500),
  created_at_us: Us.describe('microseconds, UTC'),
  transaction_time_us: Us.describe('microseconds, UTC'),
  checksum: z.string().regex(SHA256, 'expected a SHA-256 in hex').describe('of the canonical text'),
  row_count: z.int().min(0),
  columns: z.array(CitedColumn).max(1000),
  key_columns: z.array(z.string().max(63)).max(1000),
})

export const OfferCitationResult = z.strictObject({
  rows: z.int().describe('rows that are here'),
  complete: z.boolean().describe('the citation can be read here'),
})
