import { z } from 'zod'
import { Credential } from '../secret-text.js'

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
  bytes_saved: z.int().describe('bytes of the model that need not be carried'),
  delta: z
    .strictObject({
      base: z.string(),
      size: z.int().nullable(),
      error: z.string().nullable().describe('why the whole model is carried instead'),
    })
    .nullable()
    .describe('delta that is carried instead of the model; null when the nodes have not agreed on a base'),
  next_attempt_at: Datetime.nullable(),
  last_error: z.string().nullable(),
  created_at: Datetime,
  finished_at: Datetime.nullable(),
})

/** A model as an upstream, which may be another product, describes it. */
export const AnyModelInfo = z.looseObject({ model_id: z.string() })

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits')
const Size = z.int().min(0).max(Number.MAX_SAFE_INTEGER)

export const AnnounceParams = z.strictObject({
  sha256: Sha256.describe('digest of the model'),
  size: Size.describe('size of the model'),
  data: z.record(z.string(), z.unknown()).describe('data part of model_store.model.put_feedback'),
  bases: z
    .array(Sha256)
    .max(16)
    .optional()
    .describe(
      'digests of files that the sender has, the most alike first: a delta to one of them may be sent',
    ),
  delta: z
    .strictObject({
      base: Sha256.describe('digest of the file that the delta is applied to'),
      sha256: Sha256.describe('digest of the delta'),
      size: Size.describe('size of the delta'),
    })
    .optional()
    .describe('delta that would be sent instead of the model'),
})

export const AnnounceResult = z.union([
  z.strictObject({ have: z.literal(true), model_info: AnyModelInfo }),
  z.strictObject({
    have: z.literal(false),
    upload_url: z.string(),
    offset: z.int(),
    base: z
      .string()
      .optional()
      .describe('the upload takes the announced delta; absent when it takes the model'),
  }),
  z.strictObject({
    have: z.literal(false),
    base: z
      .string()
      .describe('the first of the bases that is stored: announce again, with a delta or without bases'),
  }),
])
