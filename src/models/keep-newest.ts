import type { ModelRows } from '../storage/models.js'

/** Models that are looked up at a time; each is removed in a write of its own. */
const AT_ONCE = 100

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
  for (;;) {
    const ids = await models.surplus(kept, AT_ONCE)
    for (const id of ids) if ((await models.remove(id)) !== undefined) removed++
    if (ids.length < AT_ONCE) break
  }
  if (removed > 0) log.info({ removed, kept }, 'models beyond retention.modelsKept removed')
  return removed
}
