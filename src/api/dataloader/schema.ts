import { z } from 'zod'
import { UDT_NAMES } from '../../storage/columns/column-types.js'

/** Names of tables, schemas and columns. */
export const NAME = /^[\p{L}\p{M}\p{Nd}_.-]{1,63}$/u
export const NAME_RULE = '1 to 63 letters, digits or any of _ - .'

/** PostgreSQL's largest length of `varchar`; also the most of a `bytea` or `file` column. */
const MAX_LENGTH = 10_485_760
const MAX_BYTES = 1_000_000_000
const MAX_COLUMNS = 1000

/** A name to look a table up by; what it may look like matters at registration only. */
export const DataName = z
  .string()
  .max(200)
  .describe('name of a table, as registered; a leading ddc: is dropped')

const CompanionColumn = z.string().max(63)

/** One column of `record_def`; what depends on the type or on other columns is checked in `record-def.ts`. */
export const ColumnDef = z.strictObject({
  udt_name: z.enum(UDT_NAMES).describe('type of the column'),
  is_nullable: z.boolean().default(false),
  column_default: z
    .string()
    .max(1_000_000)
    .nullish()
    .describe('value of records that carry none, as text; now() for the time of the call'),
  length: z
    .int()
    .min(1)
    .max(MAX_BYTES)
    .nullish()
    .describe(`most characters (varchar, bpchar, text: at most ${MAX_LENGTH}) or bytes (bytea, file)`),
  srid: z.int().min(0).max(999_999).nullish().describe('of geometry columns; 4326 unless given'),
  need_crypto: z.boolean().default(false).describe('stored encrypted, for varchar and text'),
  file_name_column: CompanionColumn.optional().describe(
    'of type file: string column for the name of the file',
  ),
  file_type_column: CompanionColumn.optional().describe('of type file: string column for the content type'),
  file_prefixid_column: CompanionColumn.optional().describe(
    'of type file: int column for the prefix id, always 1',
  ),
  file_pathid_column: CompanionColumn.optional().describe('of type file: string column for the path id'),
  file_relativepath_property: CompanionColumn.optional().describe(
    'of type file: property by which records may tell the relative path; no column',
  ),
})

export type ColumnDefInput = z.output<typeof ColumnDef>

/** Text lengths are bounded as in PostgreSQL. */
export const MAX_TEXT_LENGTH = MAX_LENGTH

/** Not a zod record: that would drop a column named `__proto__` without a word. Each column is checked by `record-def.ts`. */
const RecordDef = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'expected an object of columns',
  )
  .refine((value) => Object.keys(value).length <= MAX_COLUMNS, `expected at most ${MAX_COLUMNS} columns`)
  .meta({
    type: 'object',
    description: 'column name → definition',
    maxProperties: MAX_COLUMNS,
    additionalProperties: bare(z.toJSONSchema(ColumnDef, { io: 'input', target: 'draft-7' })),
  })

/** A schema within another does not name its dialect again. */
function bare({ $schema: _, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema
}

export const RegisterLoaderParams = z.strictObject({
  data_name: z.string().max(200).describe(`name of the table: ${NAME_RULE}`),
  schema: z.string().max(200).default('event').describe('schema that the table is told with'),
  record_def: RecordDef,
  unique_columns: z
    .array(z.string().max(200))
    .max(MAX_COLUMNS)
    .describe('columns of the unique key, at least one; of record_def or the reserved ones'),
})

export const RegisterLoaderResult = z.strictObject({ schema: z.string(), table_name: z.string() })

export const InitRecordParams = z.strictObject({
  data_name: DataName,
  record_set_size: z.int().min(0).max(1_000_000).describe('features wanted; at most limits.initRecords'),
})

/** GeoJSON, told loosely: results are made by hand and not checked again. */
export const FeatureCollectionResult = z.looseObject({
  type: z.literal('FeatureCollection'),
  features: z.array(z.unknown()),
})

export const IfExistsOption = z
  .enum(['override', 'skip', 'error'])
  .default('skip')
  .describe('what happens to a record whose key is there already')

export const AddRecordParams = z.strictObject({
  data_name: DataName,
  options: z.strictObject({ if_exists: IfExistsOption }).prefault({}),
  record_set: z.array(z.unknown()).max(10_000_000).describe('GeoJSON Features; properties are the columns'),
})

export const CountersResult = z.strictObject({
  count_upload: z.int().describe('records sent'),
  count_duplicate: z.int().describe('records whose key was there already, or came earlier in the call'),
  count_insert: z.int(),
  count_update: z.int(),
  count: z.int().describe('count_insert + count_update'),
  message: z.string(),
})

const LoaderEntry = z.strictObject({
  data_name: z.string(),
  table_name: z.string().describe('with its schema'),
  unique_columns: z.array(z.string()),
  record_def: z.record(
    z.string(),
    z.strictObject({
      column_default: z.string().nullable(),
      data_type: z.string(),
      is_nullable: z.enum(['YES', 'NO']),
      position: z.int(),
      udt_name: z.string(),
    }),
  ),
})

export const GetLoaderListParams = z.strictObject({})
export const GetLoaderListResult = z.strictObject({
  data: z.array(LoaderEntry),
  data_num: z.int(),
  message: z.literal('ok'),
})

export const DropLoaderParams = z.strictObject({ data_name: DataName })
export const DropLoaderResult = LoaderEntry

export const GetFileParams = z.strictObject({
  data_name: DataName,
  prefix_id: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .describe('always 1'),
  path_id: z.string().max(10_000),
  file_name: z.string().max(10_000),
})
export const GetFileResult = z.strictObject({ file_data: z.string().describe('base64') })
