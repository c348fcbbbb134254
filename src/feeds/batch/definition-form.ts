import { z } from 'zod'
import { UDT_NAMES } from '../../storage/columns/column-types.js'

const SentColumnForm = z.strictObject({
  name: z.string().max(63),
  udt_name: z.enum(UDT_NAMES),
  is_nullable: z.boolean(),
  column_default: z.string().max(1_000_000).nullable(),
  length: z.int().min(1).nullable(),
  srid: z.int().min(0).max(999_999).nullable(),
})

/** Form of a table's definition as nodes tell each other. */
export const TableDefinitionForm = z.strictObject({
  data_name: z.string().max(200),
  schema: z.string().max(200),
  columns: z.array(SentColumnForm).max(1000),
  unique_columns: z.array(z.string().max(200)).max(1000),
})
