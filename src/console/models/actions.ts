import { t } from '../core/i18n.js'
import { confirmed, saveFile, type statusLine } from '../core/parts.js'
import { call, readAnswer, request, rpcFault } from '../core/rpc.js'
import type { ModelInfo } from './read.js'

/** Name of the file that was uploaded, where whoever uploaded it told it. */
export function fileNameOf({ model_meta }: ModelInfo): string | undefined {
  return typeof model_meta.file_name === 'string' ? model_meta.file_name : undefined
}

/** Address of the page of a model. */
export function modelAddress(store: string, model_id: string): string {
  return `#/models/${encodeURIComponent(store)}/${model_id}`
}

/** Saves the file of a model. @throws CallFault */
export async function downloadModel(model: ModelInfo): Promise<void> {
  const { model_id } = model
  const response = await request(`/api/v2/model_store/models/${model_id}/file`)
  if (response.ok)
    return saveFile(fileNameOf(model) ?? `${model_id}.dat`, 'application/octet-stream', await response.blob())
  const { error } = await readAnswer(response)
  throw rpcFault(response.status, error ?? { code: 0, message: `Found HTTP ${response.status}` })
}

/** Removes a model once that is confirmed. @param removed called after it */
export async function removeModel(
  { model_id }: ModelInfo,
  removed: () => void,
  status: ReturnType<typeof statusLine>,
): Promise<void> {
  if (!(await confirmed(t('deleteModelSure', { name: model_id }), t('remove')))) return
  try {
    await call('model_store.model.delete', { model_id })
    removed()
  } catch (error) {
    status.bad(error)
  }
}
