import path from 'node:path'
import { z } from 'zod'
import { AppError, messageOf } from '../errors.js'
import { parseExact, withDoubles } from '../json/exact-json.js'
import { checkValue } from '../messages/fault-text.js'
import { MAX_BUNDLE_BYTES } from '../models/signature/bundle.js'
import type { ModuleCall, OutputValue, RunCaller } from './call.js'
import type { ScriptDefinition } from './definition.js'
import { labelledPath } from './layout.js'
import { badOutput, openRegular } from './output-file.js'
import type { PutItem } from './put-outputs.js'
import type { OutputModel, ResolvedCall, RunStores } from './run-data.js'

/** Facts about a model that a run may write beside its file; they override those of the call. */
const OutputInfo = z.strictObject({
  model_kind: z.string().max(1000).optional(),
  model_description: z.string().max(10_000).optional(),
  model_meta: z.record(z.string(), z.unknown()).optional(),
  round: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
})

const MAX_INFO_BYTES = 1024 * 1024

/**
 * Reads the outputs that the call asked for, and stores all of them or none.
 *
 * @throws AppError BAD_OUTPUT, DISK_FULL, CANCELLED
 */
export async function takeOutputs(
  call: ModuleCall,
  { tables }: ResolvedCall,
  run: { outputDir: string; type: ScriptDefinition['type']; startUs: number; caller: RunCaller },
  stores: RunStores,
): Promise<void> {
  const items: PutItem[] = []
  const models: OutputModel[] = []
  const { outputDir } = run
  try {
    for (const [label, value] of Object.entries(call.output)) {
      const kind = tables.get(label)
      if (kind === undefined) models.push(await takeModel(label, value, run, stores))
      else {
        const file = labelledPath(outputDir, label, '.csv')
        await (await openRegular(label, file)).close() // a missing file fails before anything is stored
        items.push({
          label,
          kind,
          name: value.data_ddc ?? '',
          file,
          onConflict: value.on_conflict ?? 'update',
        })
      }
    }
  } catch (error) {
    for (const { staged } of models) await staged.drop()
    throw error
  }
  if (items.length + models.length > 0) await stores.putBack(items, models, run.caller.signal)
}

async function takeModel(
  label: string,
  value: OutputValue,
  {
    outputDir,
    type,
    startUs,
    caller,
  }: { outputDir: string; type: string; startUs: number; caller: RunCaller },
  { stage, maxModelBytes }: RunStores,
): Promise<OutputModel> {
  const info = await readInfo(label, labelledPath(outputDir, label, '.json'))
  const signature = await readText(label, labelledPath(outputDir, label, '.sig'), MAX_BUNDLE_BYTES)
  const handle = await openRegular(label, labelledPath(outputDir, label, '.model'))
  try {
    const { size } = await handle.stat()
    if (size > maxModelBytes)
      throw badOutput(label, `found ${size} bytes, expected at most ${maxModelBytes} (limits.modelBytes)`)
    const staged = await stage(handle.createReadStream({ autoClose: false }))
    return {
      staged,
      store: value.model_store_ddc ?? '',
      kind: info.model_kind ?? value.model_kind ?? '',
      description: info.model_description ?? value.model_description ?? '',
      meta: { ...value.model_meta, ...info.model_meta },
      round: info.round ?? 0,
      isAggregated: type === 'aggregation',
      keyName: caller.keyName,
      startUs,
      ...(signature === undefined ? {} : { signature }),
    }
  } finally {
    await handle.close()
  }
}

async function readInfo(label: string, file: string): Promise<z.output<typeof OutputInfo>> {
  const text = await readText(label, file, MAX_INFO_BYTES)
  if (text === undefined) return {}
  const checked = checkValue(OutputInfo, withDoubles(parse(label, text), 'model_meta'))
  if ('data' in checked) return checked.data
  const [fault] = checked.faults
  throw badOutput(
    label,
    `its .json file: $${fault?.path.map((key) => `.${String(key)}`).join('')}: ${fault?.message}`,
  )
}

/** Reads a small file that a run may write beside its model; undefined if it was not written. */
async function readText(label: string, file: string, maxBytes: number): Promise<string | undefined> {
  try {
    const handle = await openRegular(label, file)
    try {
      if ((await handle.stat()).size > maxBytes)
        throw badOutput(label, `its ${path.extname(file)} file: found more than ${maxBytes} bytes, the limit`)
      return await handle.readFile('utf8')
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (error instanceof AppError && error.data.reason === 'was not written') return undefined
    throw error
  }
}

function parse(label: string, text: string): unknown {
  try {
    return parseExact(text)
  } catch (error) {
    throw badOutput(label, `its .json file: found invalid JSON: ${messageOf(error)}`)
  }
}
