import { z } from 'zod'
import { unknownModel } from '../../models/faults.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { ModelStoreContext } from './context.js'
import { toModelInfo } from './model-info.js'
import { ModelId, ModelInfo } from './schema.js'

/** Removes the row now and the bytes at a later sweep, when no transfer needs them any more. */
export const deleteModel = defineMethod({
  name: 'model_store.model.delete',
  summary: 'Removes a model; its waiting feedbacks are still delivered',
  scope: 'model:write',
  errors: ['UNKNOWN_MODEL'],
  params: z.strictObject({ model_id: ModelId }),
  result: ModelInfo,
  async handle(
    { model_id },
    { models, timeZoneMin, signatures }: Pick<ModelStoreContext, 'models' | 'timeZoneMin' | 'signatures'>,
  ) {
    const model = await models.remove(model_id)
    if (model === undefined) throw unknownModel(model_id)
    return toModelInfo(model, timeZoneMin, signatures)
  },
})
