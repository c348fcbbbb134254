import { AppError } from '../errors.js'
import type { OnConflict } from '../storage/datasets.js'
import type { ModuleDefinition, ScriptDefinition, SlotDefinition } from './definition.js'

/** Which rows or models are handed over; the condition is checked where it is compiled. */
export interface SlotQuery {
  query?: unknown
  order?: unknown
  limit?: number | undefined
  offset?: number | undefined
}

/** What one input of a call is. */
export type InputValue = SlotQuery & { data_ddc?: string | undefined; model_store_ddc?: string | undefined }

/** Where one output of a call goes. */
export interface OutputValue {
  data_ddc?: string | undefined
  on_conflict?: OnConflict | undefined
  model_store_ddc?: string | undefined
  model_kind?: string | undefined
  model_description?: string | undefined
  model_meta?: Record<string, unknown> | undefined
}

/** A call of a module's method, its shape checked. */
export interface ModuleCall {
  readonly module: string
  readonly method: string
  readonly input: Readonly<Record<string, InputValue>>
  readonly output: Readonly<Record<string, OutputValue>>
  readonly params: Readonly<Record<string, unknown>>
}

/** Who calls, as far as it matters to a run. */
export interface RunCaller {
  /** null for a caller without a session */
  readonly sessionId: string | null
  /** told with models that the run registers */
  readonly keyName: string
  /** ends the run */
  readonly signal: AbortSignal
  /** @throws AppError FORBIDDEN unless the caller could read or write that itself */
  requireScope(scope: 'dataset' | 'loader' | 'model', access: 'read' | 'write'): void
}

/**
 * The script that a call names, when the call gives what the script declares.
 *
 * @throws AppError UNKNOWN_SCRIPT, INVALID_PARAMS with every fault
 */
export function scriptOf(definition: ModuleDefinition, call: ModuleCall): ScriptDefinition {
  const script = Object.hasOwn(definition.scripts, call.method) ? definition.scripts[call.method] : undefined
  if (script === undefined) {
    const known = Object.keys(definition.scripts).slice(0, 50)
    const shown = JSON.stringify(call.method.slice(0, 100))
    const message = `The module ${definition.name} has no method ${shown}, expected one of ${known.join(', ')}`
    throw new AppError(
      'UNKNOWN_SCRIPT',
      { module: definition.name, method: call.method.slice(0, 100) },
      { message },
    )
  }
  const faults = [
    ...slotFaults('input', script.input, call.input),
    ...slotFaults('output', script.output, call.output),
  ]
  const [first] = faults
  if (first === undefined) return script
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  throw new AppError(
    'INVALID_PARAMS',
    { faults },
    { message: `Invalid params: ${first.path}: ${first.message}${more}` },
  )
}

interface Fault {
  path: string
  message: string
}

/** A script that declares nothing takes anything. */
function slotFaults(
  side: 'input' | 'output',
  declared: Readonly<Record<string, SlotDefinition>>,
  given: Readonly<Record<string, InputValue | OutputValue>>,
): Fault[] {
  const labels = Object.keys(declared)
  if (labels.length === 0) return []
  const faults: Fault[] = []
  for (const [label, { kind, optional }] of Object.entries(declared)) {
    const path = `$.${side}.${label}`
    const value = Object.hasOwn(given, label) ? given[label] : undefined
    if (value === undefined) {
      if (!optional) faults.push({ path, message: `found nothing, expected ${expectedOf(kind)}` })
    } else if (kind !== undefined && kind !== kindOf(value))
      faults.push({ path, message: `found ${nameOf(kindOf(value))}, expected ${nameOf(kind)}` })
  }
  for (const label of Object.keys(given)) {
    if (!Object.hasOwn(declared, label))
      faults.push({
        path: `$.${side}.${label}`,
        message: `is not an ${side} of the method, expected ${labels.join(', ')}`,
      })
  }
  return faults
}

export function kindOf(value: { data_ddc?: string | undefined }): 'data' | 'model' {
  return value.data_ddc === undefined ? 'model' : 'data'
}

function nameOf(kind: 'data' | 'model'): string {
  return kind === 'data' ? 'data_ddc' : 'model_store_ddc'
}

function expectedOf(kind: 'data' | 'model' | undefined): string {
  return kind === undefined ? 'data_ddc or model_store_ddc' : nameOf(kind)
}
