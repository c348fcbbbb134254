import { parseSafe } from '../json/exact-json.js'
import type { PutResult } from '../storage/tables.js'
import type { WorkHandler } from '../worker/host.js'
import { toWire, type WireError } from '../worker/wire-error.js'
import type { JobStore, PutJob } from './job-store.js'
import { newPathId } from './path-id.js'
import { putFile } from './put-file.js'

/** A small call that stores records: its target, and its records as a JSON array. */
export interface SmallPut extends PutJob {
  readonly json: string
  /** key that asked for it: owners have turns */
  readonly owner: string
  /** most rows whose index entries the call may rewrite besides its own */
  readonly maxMergeRows: number
}

/** Outcome of a small call. `thrown`: the thread did not answer. */
export type PutOutcome =
  | { readonly result: PutResult }
  | { readonly error: WireError }
  | { readonly thrown: unknown }

/** Returns the job that stores small calls together: each alone succeeds or fails; one commit for all that do. */
export function putJobs({ tables, keyring, files, timeZoneMin }: JobStore): Record<string, WorkHandler> {
  const put = async ({ json, ifExists, nowUs, ...of }: SmallPut): Promise<PutOutcome> => {
    try {
      const result = await tables.put(of, parseSafe(json) as unknown[], {
        ...{ ifExists, owner: of.owner, maxMergeRows: of.maxMergeRows },
        env: { timeZoneMin, nowUs: BigInt(nowUs), keyring, newPathId },
        putFile: (bytes) => putFile(files, bytes),
      })
      return { result }
    } catch (error) {
      return { error: toWire(error) }
    }
  }
  return { 'loader.putAll': (puts: readonly SmallPut[]): Promise<PutOutcome[]> => Promise.all(puts.map(put)) }
}
