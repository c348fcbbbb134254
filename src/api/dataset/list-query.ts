import type { z } from 'zod'
import type { StoreListQuery } from '../../storage/sqlite/datasets/store.js'
import type { ListParams } from './schema.js'

export function listQuery({ conds, order, limit, offset }: z.output<typeof ListParams>): StoreListQuery {
  return {
    conds: conds ?? undefined,
    order: order ?? undefined,
    limit: limit ?? undefined,
    offset: offset ?? undefined,
  }
}
