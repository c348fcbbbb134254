import type { PreparedArea } from '../../../geo/prepared-area.js'
import { decimalSortKey } from '../../columns/decimal-type.js'
import { valueTooLarge } from '../../columns/large-values.js'
import { compileLike, type LikeMatcher } from '../../columns/like-pattern.js'
import { timetzSortKey } from '../../columns/time-types.js'
import type { Db } from './database.js'

/** State that the functions of one connection share. */
interface Registry {
  /** areas that running statements compare rows with: handle → area */
  readonly areas: Map<number, PreparedArea>
  nextHandle: number
  /** patterns that statements have used of late: their JSON → matchers */
  readonly patterns: Map<string, LikeMatcher[]>
  /** called at each row. @throws when the running statement must end */
  throwIfEnded(): void
}

/** Error of a statement that met a value which is too large for its reader. */
export const VALUE_TOO_LARGE = new Error('a value is too large for a small read')

/** Lists of patterns that are kept compiled. */
const MAX_PATTERNS = 16

const registries = new WeakMap<Db, Registry>()

/**
 * Registers the SQL functions of conditions: `geo_intersects(wkb, handle)`, `geo_within(wkb, handle)`,
 * `like_all(text, patterns)`, `like_any(text, patterns)`, `timetz_sort_key(text)`, `decimal_sort_key(text)`,
 * `value_over_limit(column, bytes, limit)`, which throws, and `row_alive(row id)`, which is true. A second call for a connection does nothing.
 *
 * SQLite cannot interrupt a statement, but a function that throws ends it: see `guardStatements`.
 */
export function addSqlFunctions(db: Db): void {
  if (registries.has(db)) return
  const registry: Registry = { areas: new Map(), nextHandle: 1, patterns: new Map(), throwIfEnded: noCheck }
  registries.set(db, registry)
  const areaOf = (handle: number): PreparedArea => {
    const area = registry.areas.get(handle)
    if (area === undefined) throw new Error(`no area has the handle ${handle}`)
    return area
  }
  const throwIfEnded = () => registry.throwIfEnded()
  const spatial =
    (test: (area: PreparedArea, wkb: Uint8Array) => boolean) => (wkb: unknown, handle: unknown) => {
      throwIfEnded()
      return wkb instanceof Uint8Array ? Number(test(areaOf(Number(handle)), wkb)) : null
    }
  db.function(
    'geo_intersects',
    spatial((area, wkb) => area.intersectsWkb(wkb, throwIfEnded)),
  )
  db.function(
    'geo_within',
    spatial((area, wkb) => area.containsWkb(wkb, throwIfEnded)),
  )
  const like = (isAll: boolean) => (text: unknown, patterns: unknown) =>
    typeof text === 'string' ? Number(isLike(registry, text, String(patterns), isAll)) : null
  db.function('like_all', { deterministic: true }, like(true))
  db.function('like_any', { deterministic: true }, like(false))
  db.function('value_too_large', () => {
    throw VALUE_TOO_LARGE
  })
  db.function('value_over_limit', (column: unknown, bytes: unknown, maxBytes: unknown) => {
    throw valueTooLarge(String(column), Number(bytes), Number(maxBytes))
  })
  db.function('row_alive', (_rowId: unknown) => {
    registry.throwIfEnded()
    return 1
  })
  db.function('timetz_sort_key', { deterministic: true }, (text: unknown) =>
    typeof text === 'string' ? timetzSortKey(text) : null,
  )
  db.function('decimal_sort_key', { deterministic: true }, (text: unknown) =>
    typeof text === 'string' ? decimalSortKey(text) : null,
  )
}

function noCheck(): void {
  // a connection whose statements nobody ends
}

/** Compares a text with patterns until the result is known. */
function isLike(registry: Registry, text: string, json: string, isAll: boolean): boolean {
  for (const matches of matchersOf(registry, json)) {
    registry.throwIfEnded()
    if (matches(text) !== isAll) return !isAll
  }
  return isAll
}

function matchersOf(registry: Registry, json: string): LikeMatcher[] {
  const { patterns } = registry
  const known = patterns.get(json)
  if (known !== undefined) return known
  const made = (JSON.parse(json) as string[]).map((pattern) =>
    compileLike(pattern, () => registry.throwIfEnded()),
  )
  patterns.set(json, made)
  const [oldest] = patterns.keys()
  if (patterns.size > MAX_PATTERNS && oldest !== undefined) patterns.delete(oldest)
  return made
}

/**
 * Sets the check that running statements make at each row whose condition or geometry is tested.
 *
 * @param throwIfEnded its error ends the statement, and is thrown to whoever runs it; undefined for none
 */
export function guardStatements(db: Db, throwIfEnded: (() => void) | undefined): void {
  registryOf(db).throwIfEnded = throwIfEnded ?? noCheck
}

/** Makes the check of `guardStatements` between two rows. */
export function checkGuard(db: Db): void {
  registryOf(db).throwIfEnded()
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

function registryOf(db: Db): Registry {
  const registry = registries.get(db)
  if (registry === undefined) throw new Error('addSqlFunctions was not called for this connection')
  return registry
}
