import type { ModuleCall } from '../dataproc/call.js'
import type { TriggerOn } from '../storage/triggers.js'

/** Start of a trigger, and the tables that its runs write. */
export interface TriggerEnds {
  readonly name: string
  readonly on: TriggerOn
  readonly call: Pick<ModuleCall, 'output'>
}

/**
 * Finds triggers that would start each other without end.
 *
 * @param added trigger that is not among the others
 * @returns names in the order in which they start each other, the added one first and last; undefined when there is no such round
 */
export function findRound(others: readonly TriggerEnds[], added: TriggerEnds): string[] | undefined {
  const wanted = sourceOf(added.on)
  if (wanted === undefined) return undefined
  const seen = new Set<string>()
  const search = (one: TriggerEnds): string[] | undefined => {
    const written = targetsOf(one.call)
    if (written.has(wanted)) return [one.name]
    for (const next of others) {
      const source = sourceOf(next.on)
      if (source === undefined || !written.has(source) || seen.has(next.name)) continue
      seen.add(next.name)
      const found = search(next)
      if (found !== undefined) return [one.name, ...found]
    }
    return undefined
  }
  const found = search(added)
  return found === undefined ? undefined : [...found, added.name]
}

/** Returns what starts a trigger; undefined for one that no run starts. */
function sourceOf(on: TriggerOn): string | undefined {
  if (on.kind === 'table') return `table ${on.table}`
  return on.kind === 'model' ? `store ${on.store}` : undefined
}

function targetsOf({ output }: Pick<ModuleCall, 'output'>): Set<string> {
  const targets = new Set<string>()
  for (const { data_ddc: table, model_store_ddc: store } of Object.values(output)) {
    if (table !== undefined) targets.add(`table ${table}`)
    if (store !== undefined) targets.add(`store ${store}`)
  }
  return targets
}
