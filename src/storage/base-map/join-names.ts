import { searchKeys } from '../../basemap/fold.js'
import type { Db } from '../sqlite/connection/database.js'

/** Row of `names`; coordinates in 1e-7 degree. */
export interface NameRow {
  readonly name: string
  readonly latin: string
  /** JSON list of further names */
  readonly others: string
  readonly kind: string
  readonly rank: number
  readonly population: number
  readonly lng: number
  readonly lat: number
  west: number
  south: number
  east: number
  north: number
  readonly weight: number
}

/** Parts of one name closer than this are one place: a street of several ways. About 3 km. */
const NEAR_E7 = 300_000
/** Places of one name that parts are compared with; a name with more has several entries for one place. */
const MAX_COMPARED = 500
const PAGE_ROWS = 1000

/**
 * Joins the parts of each name to places, and writes them with their keys.
 *
 * @returns the number of places
 */
export function joinNames(db: Db): number {
  // the rows of a name one after the other, the largest first; row ids follow the order
  db.exec(`CREATE TEMP TABLE sorted AS
    SELECT * FROM names ORDER BY name, kind, rank, weight DESC, population DESC, lng, lat, west, south, latin, others`)
  const page = db.prepare<[number, number], NameRow & { rowid: number }>(
    'SELECT rowid, * FROM sorted WHERE rowid > ? ORDER BY rowid LIMIT ?',
  )
  const write = createPlaceWriter(db)
  let group: NameRow[] = []
  let last = 0
  for (let rows = page.all(0, PAGE_ROWS); rows.length > 0; rows = page.all(last, PAGE_ROWS)) {
    for (const row of rows) {
      last = row.rowid
      const [first] = group
      if (
        first !== undefined &&
        (first.name !== row.name || first.kind !== row.kind || first.rank !== row.rank)
      ) {
        for (const place of group) write.add(place)
        group = []
      }
      joinInto(group, row)
    }
  }
  for (const place of group) write.add(place)
  db.exec('DROP TABLE temp.sorted; DROP TABLE temp.names')
  return write.count()
}

/** Joins a part to a place near it, or makes it one of its own. */
function joinInto(group: NameRow[], row: NameRow): void {
  const near = group
    .slice(0, MAX_COMPARED)
    .find(
      (place) =>
        row.west <= place.east + NEAR_E7 &&
        row.east >= place.west - NEAR_E7 &&
        row.south <= place.north + NEAR_E7 &&
        row.north >= place.south - NEAR_E7,
    )
  if (near === undefined) {
    group.push({ ...row })
    return
  }
  near.west = Math.min(near.west, row.west)
  near.south = Math.min(near.south, row.south)
  near.east = Math.max(near.east, row.east)
  near.north = Math.max(near.north, row.north)
}

function createPlaceWriter(db: Db) {
  const insertPlace = db.prepare(
    'INSERT INTO places VALUES (@id, @name, @latin, @kind, @rank, @population, @lng, @lat, @west, @south, @east, @north)',
  )
  const insertKey = db.prepare('INSERT OR IGNORE INTO place_keys VALUES (?, ?, ?)')
  let id = 0
  return {
    count: () => id,
    add({ others, weight: _, ...place }: NameRow) {
      id++
      const { name, latin, kind, rank, population, lng, lat, west, south, east, north } = place
      insertPlace.run({ id, name, latin, kind, rank, population, lng, lat, west, south, east, north })
      const names = [name, latin, ...(JSON.parse(others) as string[])]
      for (const key of new Set(names.flatMap(searchKeys))) insertKey.run(rank, key, id)
    },
  }
}
