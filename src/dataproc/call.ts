import { AppError, type Fault, invalidParams } from '../errors.js'
import { candidates } from '../messages/candidates.js'
import type { OnConflict } from '../storage/datasets/datasets.js'
import type { ModuleDefinition, ScriptDefinition, SlotDefinition } from './definition.js'

/** Selection of rows or models. The condition is not yet checked. */
export interface SlotQuery {
  query?: unknown
  order?: unknown
  limit?: number | undefined
  offset?: number | undefined
}

/** Input of a call: rows or models. */
export type InputValue = SlotQuery & { data_ddc?: string | undefined; model_store_ddc?: string | undefined }

/** Destination of an output of a call. */
export interface OutputValue {
  data_ddc?: string | undefined
  on_conflict?: OnConflict | undefined
  model_store_ddc?: string | undefined
  model_kind?: string | undefined
  model_description?: string | undefined
  model_meta?: Record<string, unknown> | undefined
}

/** Call of a module's method; its shape has been checked. */
export interface ModuleCall {
  readonly module: string
  readonly method: string
  readonly input: Readonly<Record<string, InputValue>>
  readonly output: Readonly<Record<string, OutputValue>>
  readonly params: Readonly<Record<string, unknown>>
}

/** Facts about the caller that a run depends on. */
export interface RunCaller {
  /** null for a caller without a session */
  readonly sessionId: string | null
  /** recorded with the models that the run registers */
  readonly keyName: string
  /** ends the run */
  readonly signal: AbortSignal
  /** @throws AppError FORBIDDEN unless the caller's key allows the access without a module, too */
  requireScope(scope: 'dataset' | 'loader' | 'model', access: 'read' | 'write'): void
}

/**
 * Returns the script that a call names, after comparing the inputs and outputs of the call with those that it
 * declares.
 *
 * @throws AppError UNKNOWN_SCRIPT, INVALID_PARAMS with every fault
 */
export function scriptOf(definition: ModuleDefinition, call: ModuleCall): ScriptDefinition {
  const script = Object.hasOwn(definition.scripts, call.method) ? definition.scripts[call.method] : undefined
  if (script === undefined) {
    const known = candidates(Object.keys(definition.scripts), call.method)
    const shown = JSON.stringify(call.method.slice(0, 100))
    const message = `The module ${definition.name} has no method ${shown}, expected one of ${known}`
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
  if (faults.length > 0) throw invalidParams(faults)
  return script
}

/** A script that declares no labels accepts any. */
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

/** Returns whether an input or output is rows (`data_ddc`) or models (`model_store_ddc`). */
export function kindOf(value: { data_ddc?: string | undefined }): 'data' | 'model' {
  return value.data_ddc === undefined ? 'model' : 'data'
}

function nameOf(kind: 'data' | 'model'): string {
  return kind === 'data' ? 'data_ddc' : 'model_store_ddc'
}

function expectedOf(kind: 'data' | 'model' | undefined): string {
  return kind === undefined ? 'data_ddc or model_store_ddc' : nameOf(kind)
}
