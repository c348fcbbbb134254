import { z } from 'zod'
import { isFault } from '../../storage/columns/column-type.js'
import { typeOf, UDT_NAMES } from '../../storage/columns/column-types.js'
import { type Column, IF_EXISTS, type LoaderTable } from '../../storage/tables.js'
import { MAX_BYTE_LENGTH, MAX_TEXT_LENGTH, NAME_RULE } from '../../tables/column-def.js'

export const MAX_COLUMNS = 1000

/** Name of a table in a call; its form is checked at registration only. */
export const DataName = z
  .string()
  .max(200)
  .describe('name of a table, as registered; a leading ddc: is removed')

const CompanionColumn = z.string().max(63)

/** One column of `record_def`; `tables/record-def.ts` checks what depends on the type or on other columns. */
export const ColumnDefinition = z.strictObject({
  udt_name: z.enum(UDT_NAMES).describe('type of the column'),
  is_nullable: z.boolean().default(false),
  column_default: z
    .string()
    .max(1_000_000)
    .nullish()
    .describe('value for records that do not set the column, as text; now() is the time of the call'),
  length: z
    .int()
    .min(1)
    .max(MAX_BYTE_LENGTH)
    .nullish()
    .describe(`most characters (varchar, bpchar, text: at most ${MAX_TEXT_LENGTH}) or bytes (bytea, file)`),
  srid: z.int().min(0).max(999_999).nullish().describe('EPSG code of a geometry column; 4326 when absent'),
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
    'of type file: property in which records may carry the relative path; not a column',
  ),
})

/**
 * Not a zod record, which would silently drop a column named `__proto__`. Each column is checked by itself.
 */
/** Columns by their names; each is checked by itself. */
function recordDef(column: z.ZodType, description: string) {
  return z
    .custom<Record<string, unknown>>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'expected an object of columns',
    )
    .refine((value) => Object.keys(value).length <= MAX_COLUMNS, `expected at most ${MAX_COLUMNS} columns`)
    .meta({
      type: 'object',
      description,
      maxProperties: MAX_COLUMNS,
      additionalProperties: bare(z.toJSONSchema(column, { io: 'input', target: 'draft-7' })),
    })
}

const RecordDef = recordDef(ColumnDefinition, 'column name → definition')

/** Removes the dialect: a schema within another does not name it again. */
function bare({ $schema: _, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema
}

export const RegisterLoaderParams = z.strictObject({
  data_name: z.string().max(200).describe(`name of the table: ${NAME_RULE}`),
  schema: z.string().max(200).default('event').describe('schema shown before the name of the table'),
  record_def: RecordDef,
  unique_columns: z
    .array(z.string().max(200))
    .max(MAX_COLUMNS)
    .describe('columns of the unique key, at least one; of record_def or the reserved ones'),
})

/** Column that is added: null in the rows that are stored. */
export const AddedColumn = ColumnDefinition.extend({ is_nullable: z.boolean().default(true) })

export const AlterLoaderParams = z.strictObject({
  data_name: DataName,
  add_columns: recordDef(
    AddedColumn,
    'column name → definition as in register_loader; nullable, without defaults and files',
  ),
})

export const RegisterLoaderResult = z.strictObject({ schema: z.string(), table_name: z.string() })

export const InitRecordParams = z.strictObject({
  data_name: DataName,
  record_set_size: z.int().min(0).max(1_000_000).describe('number of features; at most limits.initRecords'),
})

/** GeoJSON, described loosely: the text of the result is not parsed again. */
export const FeatureCollectionResult = z.looseObject({
  type: z.literal('FeatureCollection'),
  features: z.array(z.unknown()),
})

export const IfExistsOption = z
  .enum(IF_EXISTS)
  .default('skip')
  .describe('action for a record whose key already exists')

export const AddRecordParams = z.strictObject({
  data_name: DataName,
  options: z.strictObject({ if_exists: IfExistsOption }).prefault({}),
  record_set: z.array(z.unknown()).max(10_000_000).describe('GeoJSON Features; properties are the columns'),
})

export const CountersResult = z.strictObject({
  count_upload: z.int().describe('records sent'),
  count_duplicate: z.int().describe('records whose key existed, or came earlier in the call'),
  count_insert: z.int(),
  count_update: z.int(),
  count: z.int().describe('count_insert + count_update'),
  message: z.string(),
})

export const LoaderEntry = z.strictObject({
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

/** Returns a table in the contract's form: `record_def` has the terms of PostgreSQL's information schema. */
export function toLoaderEntry(table: LoaderTable): z.output<typeof LoaderEntry> {
  const columns = table.columns.map(
    (column, index) => [column.name, toColumnEntry(column, index + 1)] as const,
  )
  return {
    data_name: table.dataName,
    table_name: `${table.schema}.${table.tableName}`,
    unique_columns: [...table.uniqueColumns],
    record_def: Object.fromEntries(columns), // keeps a column named `__proto__` as an ordinary key
  }
}

function toColumnEntry(column: Column, position: number): z.output<typeof LoaderEntry>['record_def'][string] {
  return {
    column_default: defaultText(column),
    data_type: typeOf(column.udtName).dataType,
    is_nullable: column.isNullable ? 'YES' : 'NO',
    position,
    udt_name: column.udtName,
  }
}

function defaultText(column: Column): string | null {
  if (column.columnDefault === null) return null
  const type = typeOf(column.udtName)
  const value = type.read(column.columnDefault, column, { timeZoneMin: 0, nowUs: 0n })
  if (isFault(value) || value === null) throw new Error(`the default of ${column.name} does not fit its type`)
  return type.renderDefault(column.columnDefault, value)
}
