import { z } from 'zod'
import { checkValue } from '../messages/fault-text.js'
import { isLabel, isModuleName, LABEL_RULE, MODULE_NAME_RULE } from './layout.js'

const SCRIPT_TYPES = [
  'training',
  'prediction',
  'aggregation',
  'model_transformation',
  'data_transformation',
] as const

const Text = z.string().max(10_000)
const Label = z.string().refine(isLabel, `expected ${LABEL_RULE}`)

const Slot = z
  .strictObject({
    description: Text.default(''),
    kind: z.enum(['data', 'model']).optional().describe('rows or models; absent for either'),
    optional: z.boolean().default(false).describe('a call may omit it'),
  })
  .describe('an input or output of a script')

const Script = z.strictObject({
  description: Text.default(''),
  path: z
    .string()
    .min(1)
    .max(1000)
    .refine(isInside, 'expected a path below the folder of the module, without . and ..')
    .describe('executable, or .js or .ts file, in the folder of the module'),
  args: z
    .array(z.string().max(4096).refine(hasNoNul, 'expected text without the character U+0000'))
    .max(100)
    .default([]),
  type: z.enum(SCRIPT_TYPES),
  input: z.record(Label, Slot).default({}).describe('label → input; empty: any'),
  output: z.record(Label, Slot).default({}).describe('label → output; empty: any'),
})

/** Content of a module's `definition.json`. */
export const ModuleDefinition = z.strictObject({
  name: z.string().refine(isModuleName, `expected ${MODULE_NAME_RULE}`),
  description: Text.default(''),
  supports: z
    .union([z.array(z.unknown()).max(1000), z.record(z.string(), z.unknown())])
    .default([])
    .describe('for callers; the gateway does not use it'),
  definitions: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('for callers; the gateway does not use it'),
  scripts: z
    .record(z.string().refine(isModuleName, `expected ${MODULE_NAME_RULE}`), Script)
    .describe('method → script'),
})

export type ModuleDefinition = z.output<typeof ModuleDefinition>
export type ScriptDefinition = ModuleDefinition['scripts'][string]
export type SlotDefinition = z.output<typeof Slot>

/** Fault of a definition. */
export interface DefinitionFault {
  /** file and JSON path: `definition.json: $.scripts.run.path` */
  path: string
  message: string
}

const MAX_FAULTS = 100

/** Parses and checks a `definition.json`. */
export function readDefinition(
  text: string,
): { definition: ModuleDefinition } | { faults: DefinitionFault[] } {
  let json: unknown
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    return { faults: [faultAt([], `is not valid JSON: ${error instanceof Error ? error.message : ''}`)] }
  }
  const checked = checkValue(ModuleDefinition, json)
  if ('faults' in checked)
    return { faults: checked.faults.slice(0, MAX_FAULTS).map(({ path, message }) => faultAt(path, message)) }
  return { definition: checked.data }
}

function faultAt(path: readonly PropertyKey[], message: string): DefinitionFault {
  const steps = path.map((key) =>
    typeof key === 'number'
      ? `[${key}]`
      : /^\w+$/.test(String(key))
        ? `.${String(key)}`
        : `["${String(key)}"]`,
  )
  return { path: `definition.json: $${steps.join('')}`.slice(0, 300), message: message.slice(0, 300) }
}

/** Returns whether a path is relative and every step a name. Links are checked when the script is run. */
function isInside(path: string): boolean {
  return hasNoNul(path) && path.split('/').every((step) => step !== '' && step !== '.' && step !== '..')
}

function hasNoNul(text: string): boolean {
  return !text.includes('\0')
}
