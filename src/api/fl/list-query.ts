import type { z } from 'zod'
import type { ListQuery } from '../../storage/list-query.js'
import type { FlContext } from './context.js'
import type { ListParams } from './schema.js'

/** Converts the params of a list for storage. */
export function listQuery(
  params: z.output<typeof ListParams>,
  { timeZoneMin, clock }: Pick<FlContext, 'timeZoneMin' | 'clock'>,
): ListQuery {
  return {
    conds: params.conds ?? undefined,
    order: params.order,
    limit: params.limit ?? undefined,
    offset: params.offset ?? undefined,
    env: { timeZoneMin, nowUs: BigInt(clock.nowUs()) },
  }
}
