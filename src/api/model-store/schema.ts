import { z } from 'zod'
import { MAX_BUNDLE_BYTES } from '../../models/signature/bundle.js'

/** Names may have the prefix `ddc:`, which is removed. */
export const StoreName = z
  .string()
  .min(1)
  .max(200)
  .transform((name) => (name.startsWith('ddc:') ? name.slice('ddc:'.length) : name))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are refused
  .refine((name) => /^[^\u0000-\u001f\u007f]+$/.test(name), 'expected a name without control characters')
  .describe('name of a model store, short or long form')

export const ModelId = z.uuid().describe('id of a model')

const Datetime = z.strictObject({ _type: z.literal('datetime'), val: z.string() })

const Kind = z.string().max(1000).describe('any kind, as supplied')
const Description = z.string().max(10_000).describe('any text, as supplied')
const Meta = z.record(z.string(), z.unknown()).describe('any JSON object, as supplied')
/** A bundle is kept as text, so an object is written as JSON. */
const Signature = z
  .union([z.string(), z.record(z.string(), z.unknown())])
  .transform((bundle) => (typeof bundle === 'string' ? bundle : JSON.stringify(bundle)))
  .refine((text) => text !== '' && text.length <= MAX_BUNDLE_BYTES, {
    error: `expected a signature bundle of at most ${MAX_BUNDLE_BYTES} characters`,
  })
  .describe('signature bundle of OpenSSF model signing: its JSON, or the text of it')

const Round = z.int().min(0).max(Number.MAX_SAFE_INTEGER).describe('round of the learning')

export const PutParams = z.strictObject({
  model_store_ddc: StoreName,
  model_kind: Kind,
  model_description: Description,
  model_meta: Meta,
  model_signature: Signature.optional(),
})

export const PutAggregatedParams = PutParams.extend({ round: Round.optional() })

const NodeId = z.string().min(1).max(100)

export const Origin = z.strictObject({
  node: NodeId.describe('id of the node where the model was first registered'),
  model_id: z.string().min(1).max(100).describe('its id there'),
  hop_count: z.int().min(0).max(1000).default(0).describe('nodes that passed the model on before this one'),
  chain: z.array(NodeId).max(1000).default([]).describe('ids of these nodes, first one first'),
})

export const PutFeedbackParams = PutAggregatedParams.extend({ origin: Origin })

const InfoFields = z.strictObject({
  model_id: z.string(),
  model_kind: z.string(),
  model_description: z.string(),
  model_meta: z.record(z.string(), z.unknown()),
  model_hash: z.string().describe('MD5 of the file, hex'),
  model_sha256: z.string().describe('SHA-256 of the file, hex'),
  model_size: z.int().describe('bytes'),
  model_state: z
    .int()
    .describe('10 put here, 20 received as feedback, 30 aggregated, 40 fetched from upstream'),
  hop_count: z.int(),
  round: z.int(),
  start_datetime: Datetime,
  end_datetime: Datetime,
  tenant_id: z.string(),
  signature: z
    .enum(['none', 'valid', 'unknown_key', 'invalid'])
    .describe(
      'valid: a trusted key signed these bytes; unknown_key: the key is not trusted, nothing is known',
    ),
})

export const ModelInfo = InfoFields.extend({
  model_store_ddc: z.string(),
  location: z.tuple([z.number(), z.number()]).describe('lng, lat'),
})

/** A model in the list of `get_info`: without the store, the location as WKB. */
export const ListedModelInfo = InfoFields.extend({
  location: z.string().describe('hex WKB of a point'),
})

export const StoreInfo = z.strictObject({
  id: z.int(),
  model_store_ddc: z.string(),
  long_form: z.string(),
  created_at: Datetime,
})
