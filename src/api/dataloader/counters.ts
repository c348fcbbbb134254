import type { z } from 'zod'
import type { Counters } from '../../storage/tables.js'
import type { CountersResult } from './schema.js'

export const NO_ROWS: Counters = { upload: 0, duplicate: 0, insert: 0, update: 0 }

/** Counters as the contract words them. */
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

export function addCounters(a: Counters, b: Counters): Counters {
  return {
    upload: a.upload + b.upload,
    duplicate: a.duplicate + b.duplicate,
    insert: a.insert + b.insert,
    update: a.update + b.update,
  }
}
