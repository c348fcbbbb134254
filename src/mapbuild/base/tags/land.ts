import type { Tags } from '../../extract/osm-objects.js'
import { type Drawing, drawing } from './drawing.js'

/** key → value → first zoom, and the kind where it is not the value. */
type Kinds = Readonly<
  Record<string, Readonly<Record<string, number | readonly [zoom: number, kind: string]>>>
>

/** Land use and land cover with the kinds of Shortbread. */
const LAND: Kinds = {
  landuse: {
    forest: 7,
    residential: 10,
    industrial: 10,
    commercial: 10,
    retail: 10,
    railway: 10,
    landfill: 10,
    brownfield: 10,
    greenfield: 10,
    farmyard: 10,
    farmland: 10,
    grass: 11,
    meadow: 11,
    orchard: 11,
    vineyard: 11,
    allotments: 11,
    village_green: 11,
    recreation_ground: 11,
    greenhouse_horticulture: 11,
    plant_nursery: 11,
    quarry: 11,
    cemetery: 12,
    garages: 14,
  },
  natural: {
    wood: [7, 'forest'],
    sand: 10,
    beach: 10,
    heath: 11,
    scrub: 11,
    grassland: 11,
    bare_rock: 11,
    scree: 11,
    shingle: 11,
    wetland: [11, 'marsh'],
  },
  leisure: {
    park: 11,
    golf_course: 11,
    garden: 12,
    playground: 13,
    miniature_golf: 13,
    nature_reserve: [11, 'grassland'],
  },
  amenity: { grave_yard: [13, 'cemetery'] },
}

/** Grounds of institutions. */
const SITES: Kinds = {
  amenity: {
    hospital: 13,
    school: 14,
    university: 14,
    college: 14,
    prison: 14,
    parking: 14,
  },
  leisure: { sports_centre: 14, pitch: [14, 'sports_centre'], stadium: [14, 'sports_centre'] },
  military: { danger_area: 14 },
  landuse: { construction: 14 },
}

const WATER: Kinds = {
  natural: { water: 4, glacier: 4 },
  waterway: { riverbank: [4, 'river'], dock: 10 },
  landuse: { reservoir: 4, basin: 7 },
}

/** Returns the water that an area is; undefined for others. */
export function waterOf(tags: Tags): Drawing | undefined {
  const found = findKind(WATER, tags)
  if (found === undefined) return undefined
  const water = tags.get('water')
  const kind =
    found.kind === 'water' && /^(?:river|canal|reservoir|basin)$/.test(water ?? '') ? water : undefined
  return drawing('water_polygons', found.zoom, { kind: kind ?? found.kind })
}

export function landOf(tags: Tags): Drawing | undefined {
  const found = findKind(LAND, tags)
  return found && drawing('land', found.zoom, { kind: found.kind })
}

export function siteOf(tags: Tags): Drawing | undefined {
  const found = findKind(SITES, tags)
  return found && drawing('sites', found.zoom, { kind: found.kind })
}

function findKind(kinds: Kinds, tags: Tags): { kind: string; zoom: number } | undefined {
  for (const [key, values] of Object.entries(kinds)) {
    const value = tags.get(key)
    if (value === undefined || !Object.hasOwn(values, value)) continue
    const found = values[value]!
    return typeof found === 'number' ? { kind: value, zoom: found } : { kind: found[1], zoom: found[0] }
  }
  return undefined
}
