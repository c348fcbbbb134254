import type { z } from 'zod'
import { withDoubles } from '../../json/exact-json.js'
import type { SuppliedFacts } from '../../models/register-model.js'
import { parseParams } from '../../rpc/define-method.js'
import type { ModelState } from '../../storage/models/models.js'
import { PutAggregatedParams, PutFeedbackParams, PutParams } from './schema.js'
import type { UploadName } from './upload-names.js'

/**
 * A method that registers a model. Its bytes come over HTTP beside its params, which are the JSON part
 * `data`.
 */
export interface UploadMethod {
  readonly name: string
  /**
   * Checks the params.
   *
   * @param json read by `readExactJson`: `model_meta` keeps its numbers as supplied
   * @throws AppError INVALID_PARAMS with every fault and its path
   */
  readFacts(json: unknown): SuppliedFacts
}

/** Between gateways; also the method of an upload that names none. */
export const PUT_FEEDBACK = uploadMethod('model_store.model.put_feedback', 20, PutFeedbackParams)

/** Methods of `POST …/upload/<method>` and of resumable uploads. */
export const UPLOAD_METHODS: readonly UploadMethod[] = [
  uploadMethod('model_store.model.put', 10, PutParams),
  uploadMethod('model_store.model.put_aggregated', 30, PutAggregatedParams),
  PUT_FEEDBACK,
]

/** Returns the upload method of a name; undefined for an unknown name. */
export function findUploadMethod(name: string): UploadMethod | undefined {
  return UPLOAD_METHODS.find((method) => method.name === name)
}

type Params = z.output<typeof PutParams> & Partial<z.output<typeof PutFeedbackParams>>

/** @param state state of the registered model */
function uploadMethod(name: UploadName, state: ModelState, schema: z.ZodType<Params>): UploadMethod {
  return {
    name,
    readFacts(json) {
      const { origin, ...params } = parseParams(schema, withDoubles(json, 'model_meta'))
      return {
        store: params.model_store_ddc,
        kind: params.model_kind,
        description: params.model_description,
        meta: (json as { model_meta: Record<string, unknown> }).model_meta, // zod's copy lacks `__proto__`
        state,
        round: params.round ?? 0,
        origin: origin === undefined ? null : { node: origin.node, modelId: origin.model_id },
        hopCount: origin === undefined ? 0 : origin.hop_count + 1,
        chain: origin?.chain ?? [],
        ...(params.model_signature === undefined ? {} : { signature: params.model_signature }),
      }
    },
  }
}
