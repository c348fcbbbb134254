import type { ErrorName } from '../../errors.js'
import type { SearchCalls } from '../../route-engine/requests.js'
import { type RawJson, rawJson } from '../../rpc/result.js'
import type { WorkerClient } from '../../worker/client.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the context that the methods use. */
export type RoutingContext = Pick<CallContext, 'caller' | 'signal' | 'noteSearchMs'> &
  Pick<SharedContext, 'config' | 'timeZoneMin'> & { readonly searcher: Pick<WorkerClient, 'call'> }

/** Errors of the methods that search from points to many others. */
export const REACH_ERRORS = [
  'OUTSIDE_MAP',
  'UNKNOWN_MAP',
  'UNKNOWN_THEME',
  'BAD_SENSITIVITY',
  'TOO_MANY_ITEMS',
  'SEARCH_TOO_LARGE',
  'BUSY',
  'TIME_LIMIT',
] as const satisfies readonly ErrorName[]

/**
 * Sends a request to the search worker. It is cancelled when the caller disconnects or after
 * `routing.timeLimitMs`.
 *
 * @returns JSON text of the method's result
 *
 * @throws AppError of the search, BUSY, CANCELLED, TIME_LIMIT
 */
export async function search<N extends keyof SearchCalls>(
  { searcher, caller, signal, config, noteSearchMs }: RoutingContext,
  name: N,
  request: SearchCalls[N],
): Promise<RawJson> {
  const { timeLimitMs } = config.routing
  const limits = { signal, timeLimitMs, owner: caller.keyId }
  const options = { ...limits, ...(noteSearchMs === undefined ? {} : { onTime: noteSearchMs }) }
  return rawJson(await searcher.call<string | Uint8Array>(name, request, options))
}
