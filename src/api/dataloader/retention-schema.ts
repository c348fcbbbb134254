import { z } from 'zod'
import { formatDatetime } from '../../datetime.js'
import type { PassState, RetainedTable, RetentionRule, ThinRule } from '../../storage/retention.js'
import type { LoaderTable } from '../../storage/tables.js'
import { NAME, NAME_RULE } from '../../tables/column-def.js'
import { NO_RULE } from '../../tables/retention-rule.js'
import { DataName } from './schema.js'

const MAX_DAYS = 36_500
const MAX_INTERVAL_S = 31 * 86_400
const MAX_SERIES_COLUMNS = 16

const Days = z.number().positive().max(MAX_DAYS)
const ThinBase = {
  after_days: Days.describe('age at which rows are thinned, days; counted as age_days is'),
  interval_s: z
    .int()
    .min(1)
    .max(MAX_INTERVAL_S)
    .describe('length of an interval, seconds; intervals begin at multiples of it since 1970 UTC'),
  by: z
    .array(z.string().max(63))
    .max(MAX_SERIES_COLUMNS)
    .describe('columns that name a series, such as the sensor; empty for one series of all rows'),
}

const Thin = z.union([
  z.strictObject({
    ...ThinBase,
    keep: z.enum(['first', 'last']).describe('row of each series and interval that stays'),
  }),
  z.strictObject({
    ...ThinBase,
    into: z
      .string()
      .regex(NAME, `expected ${NAME_RULE}`)
      .describe(
        'table that gets one row for each series and interval, with row_count, and count, min, mean and max of each number column; it is made when no table has the name',
      ),
  }),
])

export const SetRetentionParams = z.strictObject({
  data_name: DataName,
  age_days: Days.nullish().describe(
    'rows go whose end_datetime, or start_datetime where that is null, is older; null for no limit, absent leaves it as it is',
  ),
  max_rows: z.int().min(1).nullish().describe('rows that stay; the oldest go first'),
  max_bytes: z
    .int()
    .min(1)
    .nullish()
    .describe('bytes that stay, with files; estimated from a sample of rows'),
  thin: Thin.nullish().describe('keeps one row of an interval, or moves its rows into a summary'),
  drop_unsent: z
    .boolean()
    .nullish()
    .describe('removes rows, too, that a feed has not sent; false and null let them stay'),
})

export const RetentionEntry = z.strictObject({
  data_name: z.string(),
  age_days: z.number().nullable(),
  max_rows: z.int().nullable(),
  max_bytes: z.int().nullable(),
  thin: Thin.nullable(),
  drop_unsent: z.boolean(),
  rows: z.int().nullable().describe('rows of the table; null without a rule'),
  bytes: z.int().nullable().describe('estimate of their size, with files; null without a rule'),
  oldest: z.string().nullable().describe('time of the oldest row; null for none'),
  removed_rows: z.int().describe('rows that were removed since the rule was set first'),
  thinned_rows: z.int().describe('those that thinning has removed'),
  unsent_rows: z.int().describe('those that a feed had not sent'),
  last_removed: z.string().nullable().describe('when rows were removed last'),
  waiting_rows: z
    .int()
    .describe('rows that should go and wait for a feed, as far as the last pass has looked'),
  waits_for: z
    .strictObject({ feed: z.string(), to: z.string() })
    .nullable()
    .describe('feed that has sent least, and where it goes; null where no feed has the table'),
  fault: z.string().nullable().describe('why the last pass ended early'),
})

export const ListRetentionParams = z.strictObject({})
export const ListRetentionResult = z.array(RetentionEntry)

/** Reads the members of a rule that a call has. */
export function readRule({
  age_days: ageDays,
  max_rows: maxRows,
  max_bytes: maxBytes,
  thin,
  drop_unsent: dropsUnsent,
}: z.output<typeof SetRetentionParams>): Partial<RetentionRule> {
  return {
    ...(ageDays === undefined ? {} : { ageDays }),
    ...(maxRows === undefined ? {} : { maxRows }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
    ...(thin === undefined ? {} : { thin: thin === null ? null : readThin(thin) }),
    ...(dropsUnsent === undefined ? {} : { dropsUnsent: dropsUnsent ?? false }),
  }
}

function readThin({
  after_days: afterDays,
  interval_s: intervalS,
  by,
  ...to
}: z.output<typeof Thin>): ThinRule {
  return { afterDays, intervalS, by, to: 'keep' in to ? { keep: to.keep } : { into: to.into } }
}

/** Returns a table with its rule in the form of the wire. */
export function printRetention(
  { dataName }: Pick<LoaderTable, 'dataName'>,
  retained: RetainedTable | undefined,
  state: PassState | undefined,
  timeZoneMin: number,
): z.output<typeof RetentionEntry> {
  const time = (us: number | null | undefined) => (us == null ? null : formatDatetime(us, timeZoneMin))
  const { ageDays, maxRows, maxBytes, thin, dropsUnsent } = retained?.rule ?? NO_RULE
  return {
    data_name: dataName,
    ...{ age_days: ageDays, max_rows: maxRows, max_bytes: maxBytes, drop_unsent: dropsUnsent },
    thin: thin === null ? null : printThin(thin),
    rows: retained?.rows ?? null,
    bytes: retained === undefined ? null : Math.round(retained.rows * retained.rowBytes),
    oldest: time(retained?.oldestUs),
    ...{ removed_rows: retained?.removed ?? 0, thinned_rows: retained?.thinned ?? 0 },
    ...{ unsent_rows: retained?.unsent ?? 0, last_removed: time(retained?.lastRunUs) },
    ...{ waiting_rows: state?.waiting ?? 0, waits_for: state?.slowest ?? null, fault: state?.fault ?? null },
  }
}

function printThin({ afterDays, intervalS, by, to }: ThinRule): z.output<typeof Thin> {
  return { after_days: afterDays, interval_s: intervalS, by: [...by], ...to }
}
