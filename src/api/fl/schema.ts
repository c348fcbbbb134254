import { z } from 'zod'

/** Names may have the prefix `ddc:`, which is removed. */
export const StoreName = z
  .string()
  .min(1)
  .max(200)
  .transform((name) => (name.startsWith('ddc:') ? name.slice('ddc:'.length) : name))
  .describe('name of a model store, short or long form')

export const UpstreamId = z.int().min(1).describe('id of upstream information')
export const TransferId = z.int().min(1).describe('id of a transfer')
export const ModelId = z.uuid().describe('id of a model')

const Datetime = z.strictObject({ _type: z.literal('datetime'), val: z.string() })

const Endpoint = z
  .string()
  .min(1)
  .max(2000)
  .describe('https://host/api/v2/fl/jsonrpc of the other node, or its base URL')
// header values: what HTTP can carry
const Credential = z
  .string()
  .min(1)
  .max(1000)
  .regex(/^[\x21-\x7e]+$/, 'expected printable ASCII without spaces')
const Alias = z.string().max(200)
const Description = z.string().max(10_000)

export const CreateUpstreamParams = z.strictObject({
  model_store_ddc: StoreName,
  upstream_endpoint: Endpoint,
  upstream_apikey: Credential.describe('API key for the upstream node'),
  upstream_secret: Credential.describe('secret for the upstream node; encrypted at rest'),
  upstream_model_store_ddc: StoreName.describe('name of the model store there'),
  alias: Alias.default('default'),
  description: Description.default(''),
  enabled: z.boolean().default(true),
  create: z.boolean().default(false).describe('creates the model store of this node if it does not exist'),
})

/** Absent members keep their values. */
export const UpdateUpstreamParams = z.strictObject({
  id: UpstreamId,
  model_store_ddc: StoreName.optional(),
  upstream_endpoint: Endpoint.optional(),
  upstream_apikey: Credential.optional(),
  upstream_secret: Credential.optional(),
  upstream_model_store_ddc: StoreName.optional(),
  alias: Alias.optional(),
  description: Description.optional(),
  enabled: z.boolean().optional(),
})

export const UpstreamInfo = z.strictObject({
  id: z.int(),
  model_store_ddc_id: z.null(),
  model_store_dataset_id: z.int(),
  upstream_endpoint: z.string(),
  upstream_apikey: z.string(),
  upstream_secret: z
    .string()
    .nullable()
    .describe(
      'masked unless the key has fl:write; null when it was encrypted with another key file: set it again',
    ),
  upstream_model_store_ddc: z.string(),
  alias: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  created_at: Datetime,
  updated_at: Datetime,
})

export const TransferInfo = z.strictObject({
  id: z.int(),
  kind: z.enum(['feedback', 'fetch']),
  model_id: z.string().nullable(),
  upstream_id: z.int(),
  state: z.enum(['queued', 'sending', 'delivered', 'failed']),
  attempts: z.int(),
  bytes_sent: z.int(),
  size: z.int().nullable(),
  next_attempt_at: Datetime.nullable(),
  last_error: z.string().nullable(),
  created_at: Datetime,
  finished_at: Datetime.nullable(),
})

/** A model as an upstream, which may be another product, describes it. */
export const AnyModelInfo = z.looseObject({ model_id: z.string() })

export const AnnounceParams = z.strictObject({
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits')
    .describe('digest of the bytes that would be sent'),
  size: z.int().min(0).max(Number.MAX_SAFE_INTEGER).describe('size of the bytes'),
  data: z.record(z.string(), z.unknown()).describe('data part of model_store.model.put_feedback'),
})

export const AnnounceResult = z.union([
  z.strictObject({ have: z.literal(true), model_info: AnyModelInfo }),
  z.strictObject({ have: z.literal(false), upload_url: z.string(), offset: z.int() }),
])
