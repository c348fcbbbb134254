import { AppError, isAppError } from '../../errors.js'
import type { ModelSignature, NewSignature } from '../../storage/models/models.js'
import { hintIn, openBundle } from './bundle.js'
import { compareBytes } from './compare-files.js'
import type { TrustedKeys } from './keys.js'
import { reasonOf, refusal } from './refusal.js'
import { readStatement } from './statement.js'

/** `signature` of a model_info. */
export type SignatureState = 'none' | 'valid' | 'unknown_key' | 'invalid'

/** Models that need a valid signature: the settings `modelStore` with these names. */
export interface SignatureDemand {
  readonly requireSignature: boolean
  readonly signedStores: readonly string[]
  readonly signedKinds: readonly string[]
}

/** Decisions on the signatures of models. */
export interface SignaturePolicy {
  /**
   * Judges a signature for storing. A key that is not trusted now leaves the verdict open. About 0.3 ms.
   *
   * @param bundle absent for an unsigned model
   * @param sha256 digest of the model's bytes, hex
   */
  judge(bundle: string | undefined, sha256: string): NewSignature | null
  /** Returns what a model_info says about a stored signature, by the keys that are trusted now. */
  stateOf(signature: ModelSignature | null): SignatureState
  /**
   * Refuses a model that needs a valid signature and has none.
   *
   * @param store all names of the store
   * @throws AppError SIGNATURE_REFUSED with its reason
   */
  require(model: DemandedModel): void
  /** false when no model needs a signature */
  readonly hasDemand: boolean
  /** keys that are trusted now, as `stateOf` compares them: SHA-256 of the public key in PEM, hex */
  readonly trustedHints: readonly string[]
}

interface DemandedModel {
  storeNames: readonly string[]
  kind: string
  bundle: string | undefined
  sha256: string
}

/** Creates the policy of a set of trusted keys. */
export function createSignaturePolicy(demand: SignatureDemand, keys: TrustedKeys): SignaturePolicy {
  const check = (bundle: string, sha256: string) => {
    const { payload, key } = openBundle(bundle, keys)
    compareBytes(readStatement(payload), sha256)
    return key
  }
  return {
    trustedHints: [...keys.keys()],
    hasDemand: demand.requireSignature || demand.signedStores.length + demand.signedKinds.length > 0,
    judge(bundle, sha256) {
      if (bundle === undefined) return null
      try {
        return { bundle, keyHint: check(bundle, sha256).hint, verdict: 'valid' }
      } catch (error) {
        const reason = reasonOf(error)
        if (reason === undefined) throw error
        return { bundle, keyHint: hintIn(bundle), verdict: reason === 'unknown_key' ? null : 'invalid' }
      }
    },
    stateOf(signature) {
      if (signature === null) return 'none'
      const { keyHint, verdict } = signature
      if (verdict === 'invalid') return 'invalid'
      return verdict === 'valid' && keyHint !== null && keys.has(keyHint) ? 'valid' : 'unknown_key'
    },
    require({ storeNames, kind, bundle, sha256 }) {
      const why = demandOf(demand, storeNames, kind)
      if (why === undefined) return
      try {
        if (bundle === undefined)
          throw refusal('no_signature', 'found no signature, expected a signature bundle')
        check(bundle, sha256)
      } catch (error) {
        if (!isAppError(error)) throw error
        const message = `${error.message} (${why} demands the signature of a trusted key)`
        throw new AppError(error.errorName, error.data, { message })
      }
    },
  }
}

/** Returns the setting that demands a signature; undefined where none does. */
function demandOf(
  { requireSignature, signedStores, signedKinds }: SignatureDemand,
  storeNames: readonly string[],
  kind: string,
): string | undefined {
  if (requireSignature) return 'modelStore.requireSignature'
  if (storeNames.some((name) => signedStores.includes(name))) return 'modelStore.signedStores'
  return signedKinds.includes(kind) ? 'modelStore.signedKinds' : undefined
}
