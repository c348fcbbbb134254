import { z } from 'zod'
import { isName, NAME_RULE } from '../../datasets/name.js'
import { DATA_TYPE_NAMES } from '../../storage/columns/data-type.js'
import { ON_CONFLICT } from '../../storage/datasets/datasets.js'

/** Most columns that SQLite compares in one row value. */
export const MAX_COLUMNS = 500
const MAX_RECORDS = 1_000_000

const Datetime = z
  .strictObject({ _type: z.literal('datetime'), val: z.string() })
  .describe('microseconds, offset with colon')

const prefixed = (what: string) => z.string().max(200).describe(`${what}; a leading ddc: is ignored`)

const DatasetName = prefixed('name of a dataset, short or long form')
const DatasetLabel = prefixed('name of a dataset, a citation or a loader table')
const CitationLabel = prefixed('long form of a citation, or a short form for its newest citation')

/** New name; a leading `ddc:` is removed before the check. */
const newName = (what: string) =>
  z
    .string()
    .max(200)
    .transform((text) => text.replace(/^ddc:/, ''))
    .refine((text) => isName(text), `expected ${NAME_RULE}`)
    .describe(`${what}: ${NAME_RULE}`)

const ColumnName = z.string().max(63)

/** Column; `datasets/definition.ts` checks what depends on its type or on other columns. */
export const ColumnDef = z.strictObject({
  column_name: ColumnName,
  data_type: z
    .string()
    .max(100)
    .describe(
      `one of ${DATA_TYPE_NAMES.join(', ')}; varchar, character, numeric and geometry take arguments: varchar(20), numeric(10,2), geometry(Point,4326)`,
    ),
  nullable: z.boolean().default(false),
})

export const CreateParams = z.strictObject({
  dataset_name: newName('name of the dataset'),
  columns: z.array(ColumnDef).min(1).max(MAX_COLUMNS),
  key_columns: z
    .array(ColumnName)
    .max(32)
    .nullish()
    .describe('columns whose values together are unique; absent or empty for none'),
})

export const AlterParams = z.strictObject({
  dataset_name: DatasetName,
  add_columns: z
    .array(ColumnDef.extend({ nullable: z.boolean().default(true) }))
    .min(1)
    .max(MAX_COLUMNS),
})

export const DatasetParams = z.strictObject({ dataset_name: DatasetName })

export const GetColumnsParams = z.strictObject({ dataset_label: DatasetLabel })

export const GetColumnsResult = z.array(
  z.strictObject({
    column_name: z.string(),
    data_type: z.string().describe("type as PostgreSQL's catalogue prints it"),
    nullable: z.boolean(),
    attnum: z.int().describe('position, from 1'),
  }),
)

/** Conditions and orders are checked when they are compiled. */
const Condition = z
  .unknown()
  .optional()
  .meta({ type: 'object', description: 'condition; {} or absent for none' })
const Order = z
  .union([z.string().max(200), z.array(z.string().max(200)).max(16)])
  .nullish()
  .describe('a column, -column for descending, or an array of those; ties are ordered by arrival')
const Limit = z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish().describe('absent for all')
const Offset = z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish().describe('absent for 0')

export const ListParams = z.strictObject({ conds: Condition, offset: Offset, limit: Limit, order: Order })

export const CreateCitationParams = z.strictObject({
  citation_label: newName('short form of the citation; several may share one'),
  source: prefixed('dataset or loader table to cite'),
})

export const CitationParams = z.strictObject({
  citation_label: prefixed('long form of one citation, or a short form for all that share it'),
})

export const PutParams = z.strictObject({
  dataset_name: DatasetName,
  records: z
    .array(z.array(z.unknown()).max(MAX_COLUMNS))
    .max(MAX_RECORDS)
    .describe('arrays of values in the order of the columns'),
  on_conflict: z.enum(ON_CONFLICT).default('error').describe('action for a record whose key exists'),
})

export const DeleteRecordsParams = z.strictObject({ dataset_name: DatasetName, condition: Condition })

export const GetRecordsParams = z.strictObject({
  citation_label: CitationLabel,
  columns: z
    .array(z.string().max(200))
    .max(MAX_COLUMNS + 1)
    .nullish()
    .describe('columns to return, also _transaction_range; absent or empty for all columns of the dataset'),
  condition: Condition,
  offset: Offset,
  limit: Limit,
  order: Order,
})

export const ListRecordsParams = GetRecordsParams.omit({ citation_label: true }).extend({
  dataset_label: DatasetLabel,
})

export const CountRecordsParams = z.strictObject({ dataset_label: DatasetLabel, condition: Condition })

export const GetRecordsResult = z.array(z.record(z.string(), z.unknown()))

export const Count = z.int().min(0)

export const DatasetInfo = z.strictObject({
  id: z.int(),
  session_id: z.null(),
  usename: z.string().describe('name of the key that created the dataset'),
  ddc_type: z.literal('table'),
  short_form: z.string(),
  long_form: z.string().describe('name, _, and the creation time in epoch seconds'),
  realname: z.string(),
  created_at: Datetime,
  committed_at: z.null(),
  prepared_activity_id: z.null(),
})

export const ListedDataset = DatasetInfo.extend({
  key_columns: z.array(z.string()).describe('columns whose values together are unique; empty for none'),
})

export const CitationInfo = z.strictObject({
  id: z.int(),
  short_form: z.string(),
  long_form: z.string().describe('short form, _, and the creation time in epoch seconds; unique'),
  dataset_name: z.string(),
  dataset_realname: z.string(),
  transaction_time: Datetime.describe('time of the newest change that the citation sees'),
  created_at: Datetime,
  checksum: z
    .string()
    .nullable()
    .describe('SHA-256 of the cited rows in hex; null while checksum_state is pending'),
  checksum_state: z.enum(['pending', 'done']),
  origin: z.string().nullable().describe('UUID of the node that made it; null for this gateway'),
})
