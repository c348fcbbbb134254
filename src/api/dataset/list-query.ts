import type { z } from 'zod'
import type { DatasetListQuery } from '../../datasets/datasets.js'
import type { ListParams } from './schema.js'

/** Returns the query of a list from its params; null and absent are the same on the wire. */
export function listQuery({ conds, order, limit, offset }: z.output<typeof ListParams>): DatasetListQuery {
  return {
    conds: conds ?? undefined,
    order: order ?? undefined,
    limit: limit ?? undefined,
    offset: offset ?? undefined,
  }
}
