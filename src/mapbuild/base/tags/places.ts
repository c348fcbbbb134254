import type { Tags } from '../../extract/osm-objects.js'
import { type Drawings, drawing, NOTHING } from './drawing.js'
import { nameProps, namesOf } from './names.js'

/** Order of the results of a search by kind. */
export const RANK = {
  capital: 0,
  state_capital: 1,
  city: 2,
  town: 3,
  suburb: 4,
  village: 5,
  island: 6,
  quarter: 7,
  neighbourhood: 8,
  hamlet: 9,
  locality: 10,
  water: 11,
  site: 12,
  park: 13,
  street: 14,
} as const

/** `place=*` → kind, first zoom. */
const PLACES: Readonly<Record<string, readonly [kind: keyof typeof RANK, zoom: number]>> = {
  city: ['city', 6],
  town: ['town', 7],
  village: ['village', 10],
  borough: ['suburb', 10],
  suburb: ['suburb', 10],
  island: ['island', 10],
  islet: ['island', 13],
  hamlet: ['hamlet', 11],
  quarter: ['quarter', 11],
  neighbourhood: ['neighbourhood', 12],
  isolated_dwelling: ['locality', 13],
  farm: ['locality', 13],
  locality: ['locality', 13],
}
const CAPITAL_ZOOM = 4
const MOST_PEOPLE = 100_000_000

/** Returns the label of a named place; nothing for other objects. */
export function placeOf(tags: Tags): Drawings {
  const place = tags.get('place')
  if (place === undefined || !Object.hasOwn(PLACES, place)) return NOTHING
  const names = namesOf(tags)
  if (names === undefined) return NOTHING
  const [usual, usualZoom] = PLACES[place]!
  const kind = usual === 'city' || usual === 'town' ? (capitalKind(tags.get('capital')) ?? usual) : usual
  const population = populationOf(tags.get('population'))
  const props = { kind, ...nameProps(tags, names), ...(population === 0 ? {} : { population }) }
  const zoom = kind === usual ? usualZoom : CAPITAL_ZOOM
  return {
    ...NOTHING,
    points: [drawing('place_labels', zoom, props)],
    named: { ...names, kind: place, rank: RANK[kind], population },
  }
}

function capitalKind(capital: string | undefined): 'capital' | 'state_capital' | undefined {
  if (capital === 'yes' || capital === '2') return 'capital'
  return capital === '4' ? 'state_capital' : undefined
}

function populationOf(text: string | undefined): number {
  const digits = (text ?? '').replace(/[ .,']/g, '')
  return /^\d{1,9}$/.test(digits) ? Math.min(Number(digits), MOST_PEOPLE) : 0
}
