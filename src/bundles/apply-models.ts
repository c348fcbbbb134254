import { type Caller, isAllowed } from '../auth/caller.js'
import { AppError, type ErrorName, messageOf } from '../errors.js'
import type { StagedBlob } from '../files/blob-store.js'
import { type RegisterDeps, registerModel, type SuppliedFacts } from '../models/register-model.js'
import type { BundleRows } from '../storage/exchange/bundles.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { ModelRecord } from '../storage/models/models.js'
import type { Part } from './content/parts.js'

/** Dependencies of taking models. */
export interface ApplyModelsDeps {
  readonly register: RegisterDeps
  readonly bundles: Pick<BundleRows, 'noteReceipt'>
  /** `limits.modelBytes` */
  readonly maxModelBytes: number
  /** Checks the facts of a model, JSON text. @throws AppError INVALID_PARAMS */
  readFacts(text: string): SuppliedFacts
  /** Returns JSON text of the model_info. */
  infoOf(model: ModelRecord): string
  /** Keeps the sweep of a running gateway away. Returns a function that ends it. */
  keepBytes(): Promise<() => void | Promise<void>>
}

/** Result of the models of a bundle. */
export interface ModelResult {
  taken: number
  /** models that were here before */
  known: number
  /** models that are kept out, with the reason */
  readonly refused: string[]
}

/** Refusals that concern one model: the others go on. */
export const OF_MODEL = new Set<ErrorName>([
  ...([
    'UNKNOWN_STORE',
    'LOOP',
    'SIGNATURE_REFUSED',
    'INVALID_PARAMS',
    'DIGEST_MISMATCH',
    'BODY_TOO_LARGE',
  ] as const),
])

/** Takes a model of a bundle: once, however often it comes and by whichever way. */
export async function takeModel(
  deps: ApplyModelsDeps,
  { node, caller }: { node: NodePeer; caller: Caller },
  { head, part }: { head: { transfer: number; model: string; sha256: string; data: string }; part: Part },
  result: ModelResult,
): Promise<void> {
  if (!isAllowed(caller.scopes, 'model:write')) {
    result.refused.push(`${head.model}: the key of ${node.name} lacks the scope model:write`)
    return
  }
  try {
    const { model, isKnown } = await takeOne(deps, node, head, part)
    await deps.bundles.noteReceipt(node.nodeId, {
      ...{ transfer: head.transfer, modelId: head.model, answer: deps.infoOf(model) },
    })
    if (isKnown) result.known++
    else result.taken++
  } catch (error) {
    if (!(error instanceof AppError) || !OF_MODEL.has(error.errorName)) throw error
    result.refused.push(`${head.model}: ${messageOf(error)}`)
  }
}

async function takeOne(
  deps: ApplyModelsDeps,
  node: NodePeer,
  { sha256, data }: { sha256: string; data: string },
  part: Part,
): Promise<{ model: ModelRecord; isKnown: boolean }> {
  const { register, readFacts, keepBytes } = deps
  const facts = readFacts(data)
  const known = await findKnown(register, facts)
  if (known !== undefined) return { model: known, isKnown: true }
  const startUs = register.clock.nowUs()
  const staged = await stageWhole(deps, { sha256, bytes: part.bytes, source: part.body() })
  const giveBack = await keepBytes()
  try {
    return {
      model: await registerModel(register, staged, { ...facts, tenantId: node.name, startUs }),
      isKnown: false,
    }
  } finally {
    await giveBack()
  }
}

/**
 * Stages the bytes of a model.
 *
 * @throws AppError BODY_TOO_LARGE, DIGEST_MISMATCH, DISK_FULL; nothing is left behind then
 */
export async function stageWhole(
  { register, maxModelBytes }: Pick<ApplyModelsDeps, 'register' | 'maxModelBytes'>,
  { sha256, bytes, source }: { sha256: string; bytes: number; source: AsyncIterable<Uint8Array> },
): Promise<StagedBlob> {
  if (bytes > maxModelBytes) {
    const message = `Found ${bytes} bytes, expected at most ${maxModelBytes} (limits.modelBytes)`
    throw new AppError('BODY_TOO_LARGE', { maxBytes: maxModelBytes }, { message })
  }
  const staged = await register.blobs.stage(source)
  if (staged.sha256 === sha256) return staged
  await staged.drop()
  const message = `Found bytes with the SHA-256 ${staged.sha256}, expected ${sha256}`
  throw new AppError('DIGEST_MISMATCH', {}, { message })
}

async function findKnown(
  { stores, models }: RegisterDeps,
  facts: SuppliedFacts,
): Promise<ModelRecord | undefined> {
  const store = await stores.find(facts.store)
  if (store === undefined || facts.origin === null) return undefined
  return await models.findByOrigin(facts.origin.node, facts.origin.modelId, store.storeId)
}
