import { foldName } from '../../basemap/fold.js'
import type { Db } from '../sqlite/connection/database.js'

/** Place that a search found. */
export interface FoundPlace {
  /** 0 = the text is the whole name, 1 = its beginning, 2 = that of one of its words, or of another name */
  readonly match: number
  /** class of importance, lower ones first */
  readonly rank: number
  readonly name: string
  /** the name in Latin script, where `name` has none; empty otherwise */
  readonly latin: string
  readonly kind: string
  /** 0 when unknown */
  readonly population: number
  /** 1e-7 degree, as the box */
  readonly lng: number
  readonly lat: number
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

interface PlaceRow extends Omit<FoundPlace, 'match'> {
  readonly id: number
}

const RANKS = 16
/** Keys of a rank that are read for each place that is wanted: a place has several keys. */
const KEYS_PER_PLACE = 4

/**
 * Creates a search by the beginning of a name, or of one of its words, whatever its accents and capitals. Each
 * class of importance is read by itself and to a limit, so a short text costs no more than a long one.
 *
 * Order: the whole name, then its beginning, then one of its words; within these by class, people, size and
 * name.
 */
export function createPlaceFinder(db: Db): (text: string, limit: number) => FoundPlace[] {
  const selectKeys = db
    .prepare<[number, string, string, number], number>(
      'SELECT place FROM place_keys WHERE rank = ? AND key >= ? AND key < ? LIMIT ?',
    )
    .pluck()
  const selectPlace = db.prepare<[number], PlaceRow>('SELECT * FROM places WHERE id = ?')
  return (text, limit) => {
    const wanted = foldName(text)
    if (wanted === '') return []
    const ids = new Set<number>()
    for (let rank = 0; rank < RANKS; rank++) {
      for (const id of selectKeys.all(rank, wanted, `${wanted}\u{10ffff}`, limit * KEYS_PER_PLACE))
        ids.add(id)
    }
    const rows = [...ids].map((id) => selectPlace.get(id)).filter((row) => row !== undefined)
    const rated = rows.map((row) => ({ row, match: matchOf(row, wanted) }))
    rated.sort((a, b) => a.match - b.match || compare(a.row, b.row))
    return rated.slice(0, limit).map(({ row: { id: _, ...place }, match }) => ({ ...place, match }))
  }
}

function matchOf({ name, latin }: PlaceRow, wanted: string): number {
  const names = [foldName(name), foldName(latin)]
  if (names.includes(wanted)) return 0
  return names.some((each) => each.startsWith(wanted)) ? 1 : 2
}

/** Width and height of a place, 1e-7 degree. */
function extentOf({ west, south, east, north }: PlaceRow): number {
  return east - west + (north - south)
}

function compare(a: PlaceRow, b: PlaceRow): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  if (a.population !== b.population) return b.population - a.population
  const size = extentOf(b) - extentOf(a)
  if (size !== 0) return size
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.id - b.id
}
