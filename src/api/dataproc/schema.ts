import { z } from 'zod'
import { ModuleDefinition } from '../../dataproc/definition.js'
import { isLabel, LABEL_RULE } from '../../dataproc/layout.js'

/** Only the length is checked here; the catalogue knows the names. */
const Name = z
  .string()
  .max(200)
  .transform((name) => name.replace(/^ddc:/, ''))

const Label = z.string().refine(isLabel, `expected ${LABEL_RULE}`)

const DataName = z
  .string()
  .min(1)
  .max(200)
  .describe('name of a dataset, else of a loader table, else of a citation; a leading ddc: is dropped')

const StoreName = z
  .string()
  .min(1)
  .max(200)
  .transform((name) => name.replace(/^ddc:/, ''))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are refused
  .refine((name) => /^[^\u0000-\u001f\u007f]+$/.test(name), 'expected a name without control characters')
  .describe('name of a model store, short or long form; a leading ddc: is dropped')

const Limit = z
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .nullish()
  .transform((value) => value ?? undefined)

const Input = z
  .strictObject({
    data_ddc: DataName.optional(),
    model_store_ddc: StoreName.optional(),
    query: z
      .unknown()
      .optional()
      .meta({ type: 'object', description: 'condition; {} or absent for all rows or models' }),
    order: z
      .union([z.string().max(200), z.array(z.string().max(200)).max(16)])
      .nullish()
      .transform((value) => value ?? undefined)
      .describe('a column, -column for descending, or an array of those'),
    limit: Limit.describe('absent for all'),
    offset: Limit.describe('absent for 0'),
  })
  .refine(namesOne, 'expected either data_ddc or model_store_ddc')
  .describe('rows as CSV, also as GeoPackage if they have geometry; or models with their info')

const Output = z
  .strictObject({
    data_ddc: DataName.optional(),
    on_conflict: z
      .enum(['error', 'update', 'nothing'])
      .optional()
      .describe('with data_ddc: action for a row whose key exists; update if absent'),
    model_store_ddc: StoreName.optional(),
    model_kind: z.string().max(1000).optional().describe('with model_store_ddc'),
    model_description: z.string().max(10_000).optional().describe('with model_store_ddc'),
    model_meta: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('with model_store_ddc; facts from the module override it'),
  })
  .refine(namesOne, 'expected either data_ddc or model_store_ddc')
  .describe('destination of rows or of a model file')

const MAX_LABELS = 100
const fewLabels = (value: object) => Object.keys(value).length <= MAX_LABELS

export const ExecParams = z.strictObject({
  module: Name.describe('name of a module'),
  method: z.string().max(200).describe('label of one of its scripts'),
  input: z
    .record(Label, Input)
    .refine(fewLabels, `expected at most ${MAX_LABELS}`)
    .default({})
    .describe('label → rows or models for the module'),
  output: z
    .record(Label, Output)
    .refine(fewLabels, `expected at most ${MAX_LABELS}`)
    .default({})
    .describe('label → destination of an output'),
  params: z.record(z.string().max(200), z.unknown()).default({}).describe('values for the module'),
})

export const NoParams = z.strictObject({})

export const ListedModules = z.array(
  ModuleDefinition.extend({
    folder: z
      .string()
      .optional()
      .describe('name of its folder, by which it can be called, too, where it differs'),
    faults: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .optional()
      .describe('reasons why the module cannot be run'),
  }),
)

function namesOne(value: { data_ddc?: unknown; model_store_ddc?: unknown }): boolean {
  return (value.data_ddc === undefined) !== (value.model_store_ddc === undefined)
}
