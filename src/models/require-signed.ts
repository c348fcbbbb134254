import type { ModelStores } from '../storage/models/model-stores.js'
import type { SignaturePolicy } from './signature/policy.js'

/**
 * Refuses a model whose store or kind needs a valid signature. A store has two names, so both are compared.
 *
 * @param sha256 digest of the model's bytes, hex
 * @throws AppError SIGNATURE_REFUSED with its reason
 */
export async function requireSigned(
  { stores, signatures }: { stores: Pick<ModelStores, 'find'>; signatures: SignaturePolicy },
  facts: { store: string; kind: string; signature?: string | undefined },
  sha256: string,
): Promise<void> {
  if (!signatures.hasDemand) return
  const store = await stores.find(facts.store)
  const storeNames = store === undefined ? [facts.store] : [store.name, store.longForm]
  signatures.require({ storeNames, kind: facts.kind, bundle: facts.signature, sha256 })
}
