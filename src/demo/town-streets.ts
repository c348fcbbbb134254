import type { TownTags } from './town-builder.js'

/** Names from the middle outwards, east before west: half of them Japanese, as on a bilingual map. */
const COLUMN_NAMES = namesOf(`
  本町通り, 東一番街, 西一番街, Castle Street, Temple Street, 蔵前通り, 銀杏通り, Mill Street,
  Orchard Street, 八幡通り, 天神通り, School Street, Tannery Street, 桐の通り, 柳通り, East Gate,
  West Gate, 朝日通り, 夕日通り, Rampart East, Rampart West`)
/** Names from the middle outwards, north before south. */
const ROW_NAMES = namesOf(`
  川端通り, River Walk, 魚河岸通り, Market Row, Salt Row, 大手通り, 堀端通り, Hill Row,
  Meadow Row, 松並木, 竹林通り, North Row, South Row, 山手通り, 浜手通り, Upper Row, Lower Row`)

/**
 * Returns the tags of a street that runs north: main street, one-way pair beside it, avenues, residential
 * streets.
 */
export function columnTags(column: number): TownTags {
  const name = nameAt(COLUMN_NAMES, column)
  if (column === 0) return { highway: 'primary', name, maxspeed: '50' }
  if (Math.abs(column) === 1) return { highway: 'tertiary', name, oneway: column === 1 ? 'yes' : '-1' }
  if (Math.abs(column) === 5) {
    return { highway: 'secondary', name, maxspeed: '50', 'maxspeed:conditional': '30 @ (Mo-Fr 07:00-09:00)' }
  }
  return { highway: 'residential', name, ...(column % 4 === 0 ? { maxspeed: '30' } : {}) }
}

/** Returns the tags of a street that runs east. */
export function rowTags(row: number): TownTags {
  const name = nameAt(ROW_NAMES, row)
  if (row === 4 || row === -4) return { highway: 'secondary', name, maxspeed: '50' }
  if (row === 2) return { highway: 'tertiary', name, oneway: 'yes' }
  if (row === 3) return { highway: 'tertiary', name, oneway: '-1' }
  if (row === -6) return { highway: 'living_street', name }
  return { highway: 'residential', name, ...(row === 7 ? { surface: 'gravel' } : {}) }
}

/** Name of a line; 0, 1, -1, 2, -2 … take the names in order. */
function nameAt(names: readonly string[], line: number): string {
  const position = line > 0 ? line * 2 - 1 : line * -2
  return names[position % names.length] ?? ''
}

function namesOf(list: string): readonly string[] {
  return list.split(',').map((name) => name.trim())
}
