import type { ModelRows } from '../storage/models/models.js'

/** Most models of one round, each of which is a write; the next sweep goes on. */
const MOST = 500

/**
 * Removes the oldest models of each store, kind and state beyond a number. One that waits to be sent stays, also where it is no
 * longer tried: nobody else has it. Bytes go with the sweep.
 *
 * @param kept models of each that stay; 0 for all
 * @returns models removed
 */
export async function keepNewest(
  {
    models,
    log,
  }: { models: Pick<ModelRows, 'surplus' | 'remove'>; log: { info(facts: object, text: string): void } },
  kept: number,
): Promise<number> {
  if (kept === 0) return 0
  let removed = 0
  for (const id of await models.surplus(kept, MOST)) if ((await models.remove(id)) !== undefined) removed++
  if (removed > 0) log.info({ removed, kept }, 'models beyond retention.modelsKept removed')
  return removed
}
