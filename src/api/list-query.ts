import { z } from 'zod'
import type { ListQuery } from '../storage/columns/list-query.js'
import type { SharedContext } from './context.js'

/**
 * Params of a list of models, stores, upstreams or transfers. `conds` and `order` are checked where they are
 * compiled, with the position of each fault.
 */
export const ListParams = z.strictObject({
  conds: z.unknown().optional().describe('condition; {} or absent for none'),
  order: z.unknown().optional().describe('column, -column, or an array of those'),
  limit: z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish().describe('absent for all'),
  offset: z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish().describe('absent for 0'),
})

/** Converts the params of a list for storage; null and absent are the same on the wire. */
export function listQuery(
  params: z.output<typeof ListParams>,
  { timeZoneMin, clock }: Pick<SharedContext, 'timeZoneMin' | 'clock'>,
): ListQuery {
  return {
    conds: params.conds ?? undefined,
    order: params.order,
    limit: params.limit ?? undefined,
    offset: params.offset ?? undefined,
    env: { timeZoneMin, nowUs: BigInt(clock.nowUs()) },
  }
}
