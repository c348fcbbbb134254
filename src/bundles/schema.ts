import { z } from 'zod'
import { SHA256, UUID } from '../feeds/batch/format.js'
import { describeFound } from '../messages/fault-text.js'
import { bad } from './seal/open.js'

/** Version of the text of bundles. */
export const BUNDLE_VERSION = 1

const Uuid = z.string().regex(UUID)
const Count = z.int().min(0)
const Text = z.string().max(10_000)

/** First part: which bundle it is. */
export const BundleHead = z.looseObject({
  part: z.literal('bundle'),
  fieldgate_bundle: z.literal(BUNDLE_VERSION),
  bundle: Uuid,
  from: Uuid,
  to: Uuid,
  epoch: Count,
  seq: Count,
})

/** Part of a batch. `changes`: numbers of its rows, as first ones and how many follow each other. */
export const BatchHead = z.looseObject({
  feed: Uuid,
  after: Count,
  last: Count,
  changes: z.array(z.tuple([Count, Count])).max(10_000),
})

/** Part of a model. `data`: JSON text, as the params of `model_store.model.put_feedback`. */
export const ModelHead = z.looseObject({
  transfer: Count,
  model: z.string().min(1).max(100),
  sha256: z.string().regex(SHA256),
  data: z.string(),
})

/** Part of an aggregated model. `info`: JSON text of its model_info; `older`: digests of models that it replaces. */
export const AggregatedHead = z.looseObject({
  store: z.string().min(1).max(300),
  sha256: z.string().regex(SHA256),
  older: z.array(z.string().regex(SHA256)).max(1000),
  info: z.string(),
  signature: z.string().optional(),
})

/** Part that tells of the table of a feed down. */
export const GivenHead = z.looseObject({ feed: Uuid, answer: z.unknown() })

/** Part of a row of a feed down that no batch holds. */
export const AsideHead = z.looseObject({ feed: Uuid, change: Count, key: Text, reason: Text })

/** Part that offers a citation. `after`: rows before the first one that follows. */
export const CitationHead = z.looseObject({ feed: Uuid, after: Count, offer: z.unknown() })

/** Part of rows of the citation before it. */
export const RowsHead = z.looseObject({ after: Count, rows: Count })

/** Bytes of the part `received`. */
export const Received = z.looseObject({
  applied: z.array(Uuid).max(1000),
  feeds: z.array(z.looseObject({ feed: Uuid, table: Uuid, epoch: Count, cursor: Count })).max(100_000),
  gaps: z.array(z.looseObject({ feed: Uuid, bundle: Uuid, cursor: Count })).max(100_000),
  refused: z
    .array(z.looseObject({ feed: Uuid, table: Uuid, epoch: Count, change: Count, reason: Text }))
    .max(100_000),
  receipts: z
    .array(z.looseObject({ transfer: Count, modelId: z.string().max(100), answer: z.string() }))
    .max(100_000),
  citations: z
    .array(
      z.looseObject({
        longForm: z.string().max(300),
        checksum: z.string().regex(SHA256),
        rows: Count,
        isGap: z.boolean(),
      }),
    )
    .max(100_000),
  // absent in bundles of earlier versions
  wishes: z
    .array(z.looseObject({ store: z.string().max(300), has: z.string().regex(SHA256).nullable() }))
    .max(10_000)
    .default([]),
})

/** Checks a part by its schema. @throws Error that names what was found */
export function readAs<S extends z.ZodType>(schema: S, json: unknown, part: string): z.output<S> {
  const read = schema.safeParse(json)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const at = issue?.path.join('.') ?? ''
  const found = issue?.path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown>)?.[key],
    json,
  )
  throw bad(`the part ${part}: ${at}: found ${describeFound(found)}: ${issue?.message ?? ''}`)
}
