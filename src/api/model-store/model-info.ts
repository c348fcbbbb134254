import type { z } from 'zod'
import { datetimeObject } from '../../datetime.js'
import { parseExact } from '../../json/exact-json.js'
import type { SignaturePolicy } from '../../models/signature/policy.js'
import type { ModelStoreRecord } from '../../storage/models/model-stores.js'
import type { ModelRecord } from '../../storage/models/models.js'
import type { ListedModelInfo, ModelInfo, StoreInfo } from './schema.js'

type Signatures = Pick<SignaturePolicy, 'stateOf'>

/**
 * Converts a model. The name of its store is in the long form, except for models that were put here.
 */
export function toModelInfo(
  model: ModelRecord,
  timeZoneMin: number,
  signatures: Signatures,
): z.output<typeof ModelInfo> {
  const isLong = model.state !== 10 // came here, or was made, for a store that others know, too
  const { model_id, ...fields } = commonFields(model, timeZoneMin, signatures)
  return {
    model_id,
    model_store_ddc: isLong ? model.storeLongForm : model.storeName,
    ...fields,
    location: [model.lng, model.lat],
  }
}

/** Converts a model for the list of `get_info`. */
export function toListedInfo(
  model: ModelRecord,
  timeZoneMin: number,
  signatures: Signatures,
): z.output<typeof ListedModelInfo> {
  return { ...commonFields(model, timeZoneMin, signatures), location: pointHex(model.lng, model.lat) }
}

/** Converts a model store. */
export function toStoreInfo(store: ModelStoreRecord, timeZoneMin: number): z.output<typeof StoreInfo> {
  return {
    id: store.storeId,
    model_store_ddc: store.name,
    long_form: store.longForm,
    created_at: datetimeObject(store.createdAtUs, timeZoneMin),
  }
}

function commonFields(model: ModelRecord, timeZoneMin: number, signatures: Signatures) {
  const meta = parseExact(model.meta) as Record<string, unknown> // an object, checked when it was stored
  return {
    model_id: model.modelId,
    model_kind: model.kind,
    model_description: model.description,
    model_meta: meta,
    model_hash: model.md5,
    model_sha256: model.sha256,
    model_size: model.sizeBytes,
    model_state: model.state,
    hop_count: model.hopCount,
    round: model.round,
    start_datetime: datetimeObject(model.startUs, timeZoneMin),
    end_datetime: datetimeObject(model.endUs, timeZoneMin),
    tenant_id: model.tenantId,
    signature: signatures.stateOf(model.signature),
  }
}

/** Returns the little-endian WKB of a point in hex: byte order, type 1, x, y. */
function pointHex(lng: number, lat: number): string {
  const wkb = Buffer.alloc(21)
  wkb.writeUInt8(1, 0)
  wkb.writeUInt32LE(1, 1)
  wkb.writeDoubleLE(lng, 5)
  wkb.writeDoubleLE(lat, 13)
  return wkb.toString('hex').toUpperCase()
}
