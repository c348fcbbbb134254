import type { z } from 'zod'
import type { Counters } from '../../storage/tables.js'
import type { CountersResult } from './schema.js'

/** Returns counters in the contract's form. */
export function toCounters({ upload, duplicate, insert, update }: Counters): z.output<typeof CountersResult> {
  return {
    count_upload: upload,
    count_duplicate: duplicate,
    count_insert: insert,
    count_update: update,
    count: insert + update,
    message: `Of the ${upload} records uploaded, ${update} were overwritten and ${insert} were inserted.`,
  }
}
