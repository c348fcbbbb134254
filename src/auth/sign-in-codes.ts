import { hashSecret } from './secret.js'

/** Codes that sign a key in once, in memory alone: a restart forgets them. */
export interface SignInCodes {
  /** Keeps a code for a key. @param code of 128 random bits or more */
  offer(code: string, keyId: string): void
  /** Returns the key of a code, and forgets the code; undefined for an unknown, used or old one. */
  take(code: string): string | undefined
}

/** Time in which a code can be used, ms. */
const LIFE_MS = 10 * 60_000
/** Codes that are kept; the oldest goes first. */
const MAX_CODES = 16

/** @param nowMs a clock that never goes back */
export function createSignInCodes(nowMs: () => number = () => performance.now()): SignInCodes {
  const kept = new Map<string, { keyId: string; endsAtMs: number }>()
  const digestOf = (code: string) => hashSecret(code).toString('hex')
  return {
    offer(code, keyId) {
      const [oldest] = kept.keys()
      if (kept.size >= MAX_CODES && oldest !== undefined) kept.delete(oldest)
      kept.set(digestOf(code), { keyId, endsAtMs: nowMs() + LIFE_MS })
    },
    take(code) {
      const digest = digestOf(code)
      const found = kept.get(digest)
      kept.delete(digest)
      return found !== undefined && found.endsAtMs > nowMs() ? found.keyId : undefined
    },
  }
}
