import type { z } from 'zod'
import { PutAggregatedParams, PutFeedbackParams, PutParams } from '../api/model-store/schema.js'
import type { Caller } from '../auth/caller.js'
import type { StagedBlob } from '../files/blob-store.js'
import { parseParams } from '../rpc/define-method.js'
import type { ModelRecord } from '../storage/models.js'
import { type ModelFacts, type RegisterDeps, refuseLoop, registerModel } from './register-model.js'

/** Uploads by name: what their data part must hold, and the state of the model that they register. */
const UPLOADS = {
  'model_store.model.put': { params: PutParams, state: 10 },
  'model_store.model.put_aggregated': { params: PutAggregatedParams, state: 30 },
  'model_store.model.put_feedback': { params: PutFeedbackParams, state: 20 },
} as const

export type UploadMethod = keyof typeof UPLOADS

export const UPLOAD_METHODS = Object.keys(UPLOADS) as UploadMethod[]

export function isUploadMethod(name: string): name is UploadMethod {
  return Object.hasOwn(UPLOADS, name)
}

/** What an upload registers, apart from its bytes and who sends it. */
export type UploadData = Omit<ModelFacts, 'tenantId' | 'startUs'>

/**
 * Checks a data part.
 *
 * @throws AppError INVALID_PARAMS with every fault and its path; LOOP for a model that came through this node
 */
export function readUploadData(method: UploadMethod, json: unknown, nodeId: string): UploadData {
  const { params: schema, state } = UPLOADS[method]
  const params = parseParams(schema, json) as z.output<typeof PutParams> &
    Partial<Pick<z.output<typeof PutFeedbackParams>, 'round' | 'origin'>>
  const { origin } = params
  const data: UploadData = {
    store: params.model_store_ddc,
    kind: params.model_kind,
    description: params.model_description,
    meta: params.model_meta,
    state,
    round: params.round ?? 0,
    origin: origin === undefined ? null : { node: origin.node, modelId: origin.model_id },
    hopCount: origin === undefined ? 0 : origin.hop_count + 1,
    chain: origin?.chain ?? [],
  }
  if (data.origin !== null) refuseLoop(nodeId, data.origin, data.chain)
  return data
}

/** Registers what an upload brought. The staged bytes are kept or dropped, whatever happens. */
export async function receiveModel(
  deps: RegisterDeps,
  data: UploadData,
  staged: StagedBlob,
  caller: Pick<Caller, 'keyName'>,
  startUs: number,
): Promise<ModelRecord> {
  return await registerModel(deps, staged, { ...data, tenantId: caller.keyName, startUs })
}
