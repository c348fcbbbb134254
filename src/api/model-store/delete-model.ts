import { z } from 'zod'
import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { ModelStoreContext } from './context.js'
import { toModelInfo } from './model-info.js'
import { ModelId, ModelInfo } from './schema.js'

/** The row goes now; the bytes at the next sweep, and not while a transfer still has to carry them. */
export const deleteModel = defineMethod({
  name: 'model_store.model.delete',
  summary: 'Removes a model; a feedback of it that waits is still delivered',
  scope: 'model:write',
  errors: ['UNKNOWN_MODEL'],
  params: z.strictObject({ model_id: ModelId }),
  result: ModelInfo,
  async handle({ model_id }, { models, timeZoneMin }: Pick<ModelStoreContext, 'models' | 'timeZoneMin'>) {
    const model = await models.remove(model_id)
    if (model === undefined) throw unknownModel(model_id)
    return toModelInfo(model, timeZoneMin)
  },
})

export function unknownModel(modelId: string): AppError {
  return new AppError('UNKNOWN_MODEL', { model_id: modelId }, { message: `No model has the id ${modelId}` })
}
