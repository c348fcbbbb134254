import type { ModelRows } from '../storage/models/models.js'
import type { SignaturePolicy } from './signature/policy.js'

/** Signatures that are read and judged at a time; one takes about 0.3 ms. */
const PAGE = 20

/**
 * Judges the stored signatures whose key was not trusted when they came. Runs once at the start, because the
 * trusted keys change by a restart only.
 *
 * @returns number of new verdicts
 */
export async function judgeSignatures(
  models: Pick<ModelRows, 'openSignatures' | 'judgeSignatures'>,
  signatures: Pick<SignaturePolicy, 'judge'>,
  signal: AbortSignal,
): Promise<number> {
  let count = 0
  for (let after = 0; !signal.aborted; ) {
    const page = await models.openSignatures(after, PAGE)
    const verdicts = page.flatMap(({ seq, sha256, bundle }) => {
      const judged = signatures.judge(bundle, sha256)
      return judged === null || judged.verdict === null ? [] : [{ seq, ...judged }]
    })
    if (verdicts.length > 0) await models.judgeSignatures(verdicts)
    count += verdicts.length
    const last = page.at(-1)
    if (last === undefined) return count
    after = last.seq
    await new Promise((resolve) => setImmediate(resolve)) // other requests have their turn
  }
  return count
}
