import { createHash } from 'node:crypto'
import { applyDelta } from '../../src/models/delta/apply-delta.js'
import { sourceOfBytes } from '../../src/models/delta/byte-source.js'
import { type DeltaWork, deltaJobs, deltaWorkBy } from '../../src/models/delta/jobs.js'
import { type DigestedSource, makeDelta } from '../../src/models/delta/make-delta.js'
import { workOf } from './work.js'

/** The job thread in this one. @param onCall sees each call before it is answered */
export function inlineDeltaWork(
  onCall: (name: string, cancel: Int32Array) => void = () => undefined,
): DeltaWork {
  const handlers = deltaJobs(0)
  return deltaWorkBy({
    async call<R>(name: string, payload: unknown): Promise<R> {
      const cancel = new Int32Array(1)
      onCall(name, cancel)
      return (await handlers[name]?.(structuredClone(payload), workOf({ cancel }))) as R
    },
  })
}

/** A file in memory with its digest. */
export function digested(bytes: Uint8Array): DigestedSource {
  return { source: sourceOfBytes(bytes), sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** Makes a delta in memory. */
export async function deltaOf(base: Uint8Array, next: Uint8Array): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(makeDelta(digested(base), digested(next))))
}

/** Applies a delta in memory. @param pieceBytes size of the pieces in which it arrives */
export async function patched(base: Uint8Array, delta: Uint8Array, pieceBytes = 1000): Promise<Buffer> {
  const pieces = async function* () {
    for (let at = 0; at < delta.byteLength; at += pieceBytes) yield delta.subarray(at, at + pieceBytes)
  }
  return Buffer.concat(await Array.fromAsync(applyDelta(digested(base), pieces(), { maxBytes: 2 ** 30 })))
}
