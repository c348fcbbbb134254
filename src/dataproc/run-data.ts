import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type AppError, invalidParams } from '../errors.js'
import type { StagedBlob } from '../files/blob-store.js'
import {
  type InputValue,
  kindOf,
  type ModuleCall,
  type OutputValue,
  type RunCaller,
  type SlotQuery,
} from './call.js'
import type { ExportedInput, ExportItem } from './export-inputs.js'
import { labelledPath, type RunPaths } from './layout.js'
import type { PutItem } from './put-outputs.js'

/** Model to hand to a run. */
export interface InputModel {
  readonly modelId: string
  readonly sizeBytes: number
  /** as `model_store.model.get_info` describes it */
  readonly info: object
  /** @throws AppError MODEL_DAMAGED */
  open(): Promise<AsyncIterable<Uint8Array>>
}

/** Model file that a run wrote, with the facts to register it with. */
export interface OutputModel {
  readonly staged: StagedBlob
  readonly store: string
  readonly kind: string
  readonly description: string
  readonly meta: Record<string, unknown>
  readonly round: number
  readonly isAggregated: boolean
  readonly keyName: string
  readonly startUs: number
  /** signature bundle, JSON text; absent for an unsigned model */
  readonly signature?: string
}

/** Tables, datasets and models that runs read and write. */
export interface RunStores {
  /** @throws AppError UNKNOWN_DATASET */
  sourceKind(name: string): Promise<'dataset' | 'loader' | 'citation'>
  exportInputs(items: readonly ExportItem[], signal: AbortSignal): Promise<ExportedInput[]>
  /** @throws AppError UNKNOWN_STORE, BAD_CONDITION */
  listModels(store: string, query: SlotQuery, path: string): Promise<InputModel[]>
  /** @throws AppError UNKNOWN_STORE unless models may be registered in it */
  requireStore(store: string): Promise<void>
  /** Stores bytes as they arrive. @throws AppError DISK_FULL */
  stage(bytes: AsyncIterable<Uint8Array>): Promise<StagedBlob>
  /** Stores all outputs of a run, or none. @throws AppError BAD_OUTPUT, DISK_FULL, CANCELLED */
  putBack(items: readonly PutItem[], models: readonly OutputModel[], signal: AbortSignal): Promise<void>
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
  readonly maxModels: number
  readonly maxModelBytes: number
}

/** Inputs and outputs of a call, looked up before the run starts. */
export interface ResolvedCall {
  readonly models: ReadonlyMap<string, InputModel[]>
  /** outputs of records, by label */
  readonly tables: ReadonlyMap<string, 'dataset' | 'loader'>
}

/**
 * Looks up everything that a call names, so that an unknown name fails before the module starts.
 *
 * @throws AppError UNKNOWN_DATASET, UNKNOWN_STORE, BAD_CONDITION, FORBIDDEN, INVALID_PARAMS
 */
export async function resolveCall(
  call: ModuleCall,
  caller: RunCaller,
  stores: RunStores,
): Promise<ResolvedCall> {
  const models = new Map<string, InputModel[]>()
  const tables = new Map<string, 'dataset' | 'loader'>()
  for (const [label, value] of Object.entries(call.input)) {
    if (value.data_ddc !== undefined) {
      const kind = await stores.sourceKind(value.data_ddc)
      caller.requireScope(kind === 'loader' ? 'loader' : 'dataset', 'read')
    } else models.set(label, await findModels(label, value, caller, stores))
  }
  for (const [label, value] of Object.entries(call.output)) {
    if (value.data_ddc !== undefined) {
      const kind = await stores.sourceKind(value.data_ddc)
      if (kind === 'citation') throw citedOutput(label, value.data_ddc)
      caller.requireScope(kind, 'write')
      tables.set(label, kind)
    } else {
      caller.requireScope('model', 'write')
      await stores.requireStore(value.model_store_ddc ?? '')
    }
  }
  return { models, tables }
}

async function findModels(
  label: string,
  value: InputValue,
  caller: RunCaller,
  { listModels, maxModels }: RunStores,
): Promise<InputModel[]> {
  caller.requireScope('model', 'read')
  // one more than the limit shows that there are more
  const limit = Math.min(value.limit ?? Number.POSITIVE_INFINITY, maxModels + 1)
  const found = await listModels(value.model_store_ddc ?? '', { ...value, limit }, `$.input.${label}`)
  if (found.length <= maxModels) return found
  const message = `found more than ${maxModels} models, expected a query or limit that selects fewer (dataproc.maxModels)`
  throw invalidParams([{ path: `$.input.${label}`, message }])
}

/** A run before its script starts. */
interface RunInputs {
  readonly call: ModuleCall
  readonly resolved: ResolvedCall
  /** facts that `configuration.json` begins with */
  readonly facts: { readonly run_id: string; readonly type: string }
  readonly paths: RunPaths
  readonly signal: AbortSignal
}

/**
 * Writes the inputs, and `configuration.json` with the paths of inputs and outputs.
 *
 * @throws AppError DISK_FULL, BAD_CONDITION, MODEL_DAMAGED, CANCELLED
 */
export async function writeInputs(
  { call, resolved, facts, paths, signal }: RunInputs,
  stores: RunStores,
): Promise<void> {
  const items = Object.entries(call.input).flatMap(([label, value]) =>
    value.data_ddc === undefined ? [] : [exportItem(label, value, value.data_ddc, paths)],
  )
  const input: Record<string, unknown> = {}
  const exported = items.length === 0 ? [] : await stores.exportInputs(items, signal)
  for (const { label, rows, columns, hasGeopackage } of exported) {
    const geopackage = hasGeopackage ? `input/${label}.gpkg` : null
    input[label] = { ...call.input[label], file: `input/${label}.csv`, geopackage, rows, columns }
  }
  for (const [label, found] of resolved.models) {
    const files = []
    for (const model of found) files.push(await writeModel(label, model, paths, stores, signal))
    input[label] = { ...call.input[label], models: files }
  }
  const output = Object.fromEntries(
    Object.entries(call.output).map(([label, value]) => [label, { ...value, ...outputFiles(label, value) }]),
  )
  const { module, method, params } = call
  const configuration = { ...facts, module, method, params, input, output }
  await writeFile(paths.configuration, `${JSON.stringify(configuration, null, 2)}\n`, { mode: 0o600 })
}

function exportItem(label: string, value: InputValue, name: string, { input }: RunPaths): ExportItem {
  const { query, order, limit, offset } = value
  return {
    label,
    name,
    query: { conds: query, order, limit, offset },
    csvFile: labelledPath(input, label, '.csv'),
    geopackageFile: labelledPath(input, label, '.gpkg'),
  }
}

/** Writes a model and its info. @returns its entry in `configuration.json` */
async function writeModel(
  label: string,
  model: InputModel,
  { input }: RunPaths,
  { requireSpace }: RunStores,
  signal: AbortSignal,
): Promise<object> {
  await requireSpace(model.sizeBytes)
  const stem = `${label}.${model.modelId}` // the id was checked to be a UUID
  const bytes = Readable.from(await model.open(), { objectMode: false })
  await pipeline(
    bytes,
    createWriteStream(labelledPath(input, label, `.${model.modelId}.model`), { flags: 'wx' }),
    { signal },
  )
  const info = `${JSON.stringify(model.info, null, 2)}\n`
  await writeFile(labelledPath(input, label, `.${model.modelId}.json`), info)
  return { file: `input/${stem}.model`, info_file: `input/${stem}.json`, info: model.info }
}

function outputFiles(label: string, value: OutputValue): object {
  if (kindOf(value) === 'data') return { file: `output/${label}.csv` }
  return { file: `output/${label}.model`, info_file: `output/${label}.json` }
}

function citedOutput(label: string, name: string): AppError {
  const path = `$.output.${label}.data_ddc`
  const message = `found the citation ${name.slice(0, 100)}, expected a dataset or a loader table`
  return invalidParams([{ path, message }])
}
