import { z } from 'zod'

/** Settings `retention`: what goes by itself on the whole device. */
export const makeRetention = () =>
  z.strictObject({
    minFreeBytes: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .default(0)
      .describe(
        'free space below which the tables of retention.giveFirst give their oldest rows, bytes; 0 for never. More than limits.diskReserveBytes, below which writes are refused',
      ),
    giveFirst: z
      .array(z.string().min(1).max(200))
      .max(1000)
      .default([])
      .describe(
        'tables that give rows when the disk falls below retention.minFreeBytes, the first one first',
      ),
    modelsKept: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(0)
      .describe(
        'newest models of each store, kind and state that stay; older ones are removed at the sweep (modelStore.sweepMinutes), never one that is not delivered; 0 for all',
      ),
  })
