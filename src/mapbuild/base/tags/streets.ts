import type { Tags } from '../../extract/osm-objects.js'
import type { Drawing, Named, Names, Props } from './drawing.js'
import { nameProps } from './names.js'
import { RANK } from './places.js'

/** `highway=*` → first zoom, first zoom of the name. */
const STREETS: Readonly<Record<string, readonly [zoom: number, labelZoom: number]>> = {
  motorway: [5, 10],
  trunk: [6, 10],
  primary: [8, 12],
  secondary: [9, 12],
  tertiary: [10, 12],
  unclassified: [12, 13],
  residential: [12, 13],
  busway: [12, 14],
  living_street: [13, 14],
  pedestrian: [13, 14],
  service: [13, 14],
  track: [13, 14],
  footway: [13, 14],
  steps: [13, 14],
  path: [13, 14],
  cycleway: [13, 14],
  bridleway: [13, 14],
}

const RAILS: Readonly<Record<string, number>> = {
  rail: 8,
  narrow_gauge: 10,
  light_rail: 10,
  funicular: 10,
  subway: 10,
  tram: 12,
  monorail: 12,
}

const RUNWAYS: Readonly<Record<string, number>> = { runway: 11, taxiway: 13 }

/** Zoom from which a street has more properties than its kind. */
const DETAIL_ZOOM = 11

/** Returns the appearance of a street, a railway or a runway as lines, and its label. */
export function streetLines(tags: Tags, names: Names | undefined): Drawing[] {
  const highway = tags.get('highway')
  if (highway !== undefined) return highwayLines(highway, tags, names)
  const railway = tags.get('railway')
  if (railway !== undefined && Object.hasOwn(RAILS, railway)) {
    const isSiding = tags.has('service')
    return [line(isSiding ? 13 : RAILS[railway]!, { kind: railway, rail: true }, tags)]
  }
  const aeroway = tags.get('aeroway')
  if (aeroway !== undefined && Object.hasOwn(RUNWAYS, aeroway))
    return [line(RUNWAYS[aeroway]!, { kind: aeroway }, tags)]
  return []
}

/** Returns the entry of a street for the search. */
export function namedStreet(tags: Tags, names: Names | undefined): Named | undefined {
  const highway = tags.get('highway')
  if (names === undefined || highway === undefined || !isStreet(highway)) return undefined
  return { ...names, kind: 'street', rank: RANK.street, population: 0 }
}

function isStreet(highway: string): boolean {
  return Object.hasOwn(STREETS, highway.replace(/_link$/, ''))
}

function highwayLines(highway: string, tags: Tags, names: Names | undefined): Drawing[] {
  const kind = highway.replace(/_link$/, '')
  if (!Object.hasOwn(STREETS, kind)) return []
  const [zoom, labelZoom] = STREETS[kind]!
  const isLink = kind !== highway
  const street = line(zoom, isLink ? { kind, link: true } : { kind }, tags)
  const label = labelOf(kind, tags, names)
  if (label === undefined) return [street]
  return [
    street,
    {
      layer: 'street_labels',
      minZoom: label.ref === undefined ? labelZoom : Math.min(labelZoom, 11),
      props: () => label,
    },
  ]
}

function line(minZoom: number, base: Props, tags: Tags): Drawing {
  const detailed = { ...base, ...detailsOf(tags) }
  return { layer: 'streets', minZoom, props: (zoom) => (zoom < DETAIL_ZOOM ? base : detailed) }
}

function detailsOf(tags: Tags): Props {
  const oneway = tags.get('oneway')
  return {
    ...(isYes(tags.get('tunnel')) ? { tunnel: true } : {}),
    ...(isYes(tags.get('bridge')) ? { bridge: true } : {}),
    ...(oneway === 'yes' || oneway === '1' || oneway === 'true' ? { oneway: true } : {}),
    ...(oneway === '-1' || oneway === 'reverse' ? { oneway_reverse: true } : {}),
    ...(/^(?:unpaved|gravel|dirt|ground|earth|sand|compacted|grass)$/.test(tags.get('surface') ?? '')
      ? { surface: 'unpaved' }
      : {}),
  }
}

function isYes(value: string | undefined): boolean {
  return value !== undefined && value !== 'no'
}

/** Returns the properties of a label; `ref_rows` and `ref_cols` are the size of the shield in letters. */
function labelOf(kind: string, tags: Tags, names: Names | undefined): Props | undefined {
  const refs = (tags.get('ref') ?? '')
    .split(';')
    .map((ref) => ref.trim().slice(0, 20))
    .filter((ref) => ref !== '')
    .slice(0, 4)
  if (names === undefined && refs.length === 0) return undefined
  return {
    kind,
    ...(names === undefined ? {} : nameProps(tags, names)),
    ...(refs.length === 0
      ? {}
      : {
          ref: refs.join('\n'),
          ref_rows: refs.length,
          ref_cols: Math.max(...refs.map((ref) => ref.length)),
        }),
  }
}
