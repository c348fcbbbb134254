import type { ErrorName } from '../../errors.js'
import type { SearchCalls } from '../../route-engine/requests.js'
import { type RawJson, rawJson } from '../../rpc/result.js'
import type { WorkerClient } from '../../worker/client.js'
import type { CallContext, SharedContext } from '../context.js'

/** What the room of routes needs of the context. */
export type RoutingContext = Pick<CallContext, 'signal'> &
  Pick<SharedContext, 'config' | 'timeZoneMin'> & { readonly searcher: Pick<WorkerClient, 'call'> }

/** What may be wrong with a search for what can be reached, from many points or from one. */
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
 * Has the search worker answer a call. It is given up when the caller hangs up or `routing.timeLimitMs` is over.
 *
 * @throws AppError of the search, BUSY, CANCELLED, TIME_LIMIT
 */
export async function search<N extends keyof SearchCalls>(
  { searcher, signal, config }: RoutingContext,
  name: N,
  request: SearchCalls[N],
): Promise<RawJson> {
  const { timeLimitMs } = config.routing
  return rawJson(await searcher.call<string>(name, request, { signal, timeLimitMs }))
}
