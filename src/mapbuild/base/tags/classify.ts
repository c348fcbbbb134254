import type { Tags } from '../../extract/osm-objects.js'
import { type Drawing, type Drawings, drawing, type Named, type Names, NOTHING } from './drawing.js'
import { landOf, siteOf, waterOf } from './land.js'
import { nameProps, namesOf } from './names.js'
import { placeOf, RANK } from './places.js'
import { namedStreet, streetLines } from './streets.js'

/** Keys of ways and relations that can be drawn; others are not read. */
export const DRAWN_KEYS = [
  'building',
  'landuse',
  'natural',
  'leisure',
  'amenity',
  'military',
  'waterway',
  'highway',
  'railway',
  'aeroway',
  'man_made',
  'route',
  'place',
  'boundary',
]
/** Keys of nodes that can be drawn. */
export const DRAWN_NODE_KEYS = ['place']

/** `waterway=*` → first zoom, first zoom of the name. */
const WATERWAYS: Readonly<Record<string, readonly [zoom: number, labelZoom: number]>> = {
  river: [9, 12],
  canal: [9, 12],
  stream: [13, 14],
  ditch: [14, 14],
  drain: [14, 14],
}
const LINE_NATURAL = /^(?:coastline|cliff|ridge|arete|tree_row|valley)$/

/** Returns the appearance of a node. */
export function classifyNode(tags: Tags): Drawings {
  return placeOf(tags)
}

/** Returns the appearance of a way. @param isClosed its last node is its first one */
export function classifyWay(tags: Tags, isClosed: boolean): Drawings {
  if (isClosed && isArea(tags)) return classifyArea(tags)
  const names = namesOf(tags)
  const water = waterLines(tags, names)
  const lines = [...streetLines(tags, names), ...water, ...otherLines(tags, names)]
  return {
    ...NOTHING,
    lines,
    named: namedStreet(tags, names) ?? (water.length > 0 ? namedWater(tags, names) : undefined),
  }
}

/** Returns the appearance of an area: a closed way or a multipolygon. */
export function classifyArea(tags: Tags): Drawings {
  const names = namesOf(tags)
  const water = waterOf(tags)
  const site = siteOf(tags)
  const land = landOf(tags)
  const areas = [water, site, land, buildingOf(tags), pavementOf(tags), pierOf(tags)].filter(
    (each) => each !== undefined,
  )
  const place = placeOf(tags)
  const waterLabel =
    water === undefined || names === undefined
      ? []
      : [drawing('water_polygons_labels', 11, { kind: 'water', ...nameProps(tags, names) })]
  const named =
    place.named ?? (names === undefined ? undefined : namedArea(names, { water, site, land }, tags))
  return { areas, lines: [], points: [...place.points, ...waterLabel], named }
}

/** Returns true for a closed way that is an area. */
function isArea(tags: Tags): boolean {
  const area = tags.get('area')
  if (area !== undefined) return area !== 'no'
  if (tags.has('highway') || tags.has('railway') || tags.has('barrier') || tags.get('route') === 'ferry')
    return tags.has('building')
  const natural = tags.get('natural')
  if (natural !== undefined && !LINE_NATURAL.test(natural)) return true
  const waterway = tags.get('waterway')
  if (waterway !== undefined) return waterway === 'riverbank' || waterway === 'dock'
  return ['building', 'landuse', 'leisure', 'amenity', 'military', 'place', 'man_made'].some((key) =>
    tags.has(key),
  )
}

function buildingOf(tags: Tags): Drawing | undefined {
  const building = tags.get('building')
  return building === undefined || building === 'no' ? undefined : drawing('buildings', 14, {})
}

/** Squares and runways that are areas. */
function pavementOf(tags: Tags): Drawing | undefined {
  const highway = tags.get('highway')
  if (highway !== undefined && /^(?:pedestrian|footway|service|living_street)$/.test(highway))
    return drawing('street_polygons', 14, { kind: highway })
  const aeroway = tags.get('aeroway')
  return aeroway === 'runway' || aeroway === 'taxiway' || aeroway === 'apron'
    ? drawing('street_polygons', 11, { kind: aeroway })
    : undefined
}

function pierOf(tags: Tags): Drawing | undefined {
  return isPier(tags) ? drawing('pier_polygons', 12, { kind: tags.get('man_made')! }) : undefined
}

function isPier(tags: Tags): boolean {
  return /^(?:pier|breakwater|groyne)$/.test(tags.get('man_made') ?? '')
}

function waterLines(tags: Tags, names: Names | undefined): Drawing[] {
  const kind = tags.get('waterway')
  if (kind === undefined || !Object.hasOwn(WATERWAYS, kind)) return []
  const [zoom, labelZoom] = WATERWAYS[kind]!
  const isTunnel = (tags.get('tunnel') ?? 'no') !== 'no'
  const line = drawing('water_lines', isTunnel ? 14 : zoom, isTunnel ? { kind, tunnel: true } : { kind })
  if (names === undefined) return [line]
  return [line, drawing('water_lines_labels', labelZoom, { kind, ...nameProps(tags, names) })]
}

function otherLines(tags: Tags, names: Names | undefined): Drawing[] {
  if (tags.get('route') === 'ferry')
    return [drawing('ferries', 10, { kind: 'ferry', ...(names === undefined ? {} : nameProps(tags, names)) })]
  return isPier(tags) ? [drawing('pier_lines', 12, { kind: tags.get('man_made')! })] : []
}

function namedWater(tags: Tags, names: Names | undefined): Named | undefined {
  return names && { ...names, kind: tags.get('waterway')!, rank: RANK.water, population: 0 }
}

function namedArea(
  names: Names,
  { water, site, land }: { water: Drawing | undefined; site: Drawing | undefined; land: Drawing | undefined },
  tags: Tags,
): Named | undefined {
  const first = water ?? site ?? land
  if (first === undefined) return undefined
  const rank = first === water ? RANK.water : first === site ? RANK.site : RANK.park
  const amenity = site === first ? (tags.get('amenity') ?? tags.get('leisure')) : undefined
  return { ...names, kind: amenity ?? String(first.props(14).kind), rank, population: 0 }
}
