import type { PreparedArea } from '../../../geo/prepared-area.js'
import { decimalSortKey } from '../../columns/decimal-type.js'
import { timetzSortKey } from '../../columns/time-types.js'
import type { Db } from './database.js'

/** Areas that running statements compare rows with: handle → area. */
interface AreaRegistry {
  readonly areas: Map<number, PreparedArea>
  nextHandle: number
}

const registries = new WeakMap<Db, AreaRegistry>()

/**
 * Registers the SQL functions of conditions: `geo_intersects(wkb, handle)`, `geo_within(wkb, handle)`,
 * `timetz_sort_key(text)`, `decimal_sort_key(text)`. A second call for a connection does nothing.
 */
export function addSqlFunctions(db: Db): void {
  if (registries.has(db)) return
  const registry: AreaRegistry = { areas: new Map(), nextHandle: 1 }
  registries.set(db, registry)
  const areaOf = (handle: number): PreparedArea => {
    const area = registry.areas.get(handle)
    if (area === undefined) throw new Error(`no area has the handle ${handle}`)
    return area
  }
  const spatial =
    (test: (area: PreparedArea, wkb: Uint8Array) => boolean) => (wkb: unknown, handle: unknown) =>
      wkb instanceof Uint8Array ? Number(test(areaOf(Number(handle)), wkb)) : null
  db.function(
    'geo_intersects',
    spatial((area, wkb) => area.intersectsWkb(wkb)),
  )
  db.function(
    'geo_within',
    spatial((area, wkb) => area.containsWkb(wkb)),
  )
  db.function('timetz_sort_key', { deterministic: true }, (text: unknown) =>
    typeof text === 'string' ? timetzSortKey(text) : null,
  )
  db.function('decimal_sort_key', { deterministic: true }, (text: unknown) =>
    typeof text === 'string' ? decimalSortKey(text) : null,
  )
}

/**
 * Keeps an area for statements and returns its handle. `dropArea` must follow the last statement that uses
 * it.
 */
export function keepArea(db: Db, area: PreparedArea): number {
  const registry = registryOf(db)
  const handle = registry.nextHandle++
  registry.areas.set(handle, area)
  return handle
}

/** Drops a kept area. */
export function dropArea(db: Db, handle: number): void {
  registryOf(db).areas.delete(handle)
}

function registryOf(db: Db): AreaRegistry {
  const registry = registries.get(db)
  if (registry === undefined) throw new Error('addSqlFunctions was not called for this connection')
  return registry
}
