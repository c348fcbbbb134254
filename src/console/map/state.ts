/** State of the map page. It outlives the page, so that leaving and returning loses nothing. */
export interface MapState {
  mapName: string | undefined
  /** start, via points, destination: lng, lat in degrees */
  points: [number, number][]
  /** risk themes that are shown and used by routes → 11 sensitivities */
  themes: Map<string, number[]>
  /** names of the event tables that are shown */
  events: Set<string>
  /** ms since 1970: the time of the risk map and of the start of routes */
  atMs: number
  /** true once the user has chosen a time, or a link has: data no longer moves it */
  isTimeChosen: boolean
  /** range of the time line; undefined until the data of a theme or table was read */
  spanMs: [number, number] | undefined
  /** marked range of the time line; undefined for all of it */
  brushMs: [number, number] | undefined
  recordTimes: RecordTimes
  /** degree of the grid, 1 to 5; 0 for the stored cells */
  degree: number
  reorder: boolean
  timeDependent: boolean
  alternatives: number
  /** route that is shown in front: `around` the risk, `fastest`, or the number of an alternative */
  chosen: string
  /** column that colours records; undefined for a colour of each table */
  colourBy: string | undefined
  /** condition on records */
  recordFilter: { column: string; operator: string; value: string } | undefined
  /** limits of the isochrones that are shown */
  minutes: number[] | undefined
  camera: { center: [number, number]; zoom: number } | undefined
}

/** Records that are shown: of all times, of the marked range, or valid at the chosen time. */
export const RECORD_TIMES = ['all', 'brush', 'at'] as const
type RecordTimes = (typeof RECORD_TIMES)[number]

export const MAX_ROUTES = 5

/** State of a page that was never used. */
export function initialState(): MapState {
  return {
    mapName: undefined,
    points: [],
    themes: new Map(),
    events: new Set(),
    atMs: Date.now(),
    isTimeChosen: false,
    spanMs: undefined,
    brushMs: undefined,
    recordTimes: 'all',
    degree: 0,
    reorder: false,
    timeDependent: false,
    alternatives: 1,
    chosen: 'around',
    colourBy: undefined,
    recordFilter: undefined,
    minutes: undefined,
    camera: undefined,
  }
}

export const mapState = initialState()

/** Colours of the levels 0 to 10, distinguishable with colour vision deficiencies, too. */
export const RISK_COLOURS = [
  '#7fb8c4',
  '#a5c9a5',
  '#c9d685',
  '#e6dc6c',
  '#f5cf57',
  '#f9b545',
  '#f6933b',
  '#ec6d38',
  '#d9463c',
  '#b52546',
  '#7d0f48',
] as const

/** Colour of a level, which is rounded and limited to 0 to 10. */
export function riskColour(level: number): string {
  return RISK_COLOURS[Math.max(0, Math.min(10, Math.round(level)))] ?? RISK_COLOURS[0]
}

/** Label of a point of a route: A for the start, B for the destination, numbers for via points. */
export function pinLabel(index: number, count: number): string {
  if (index === 0) return 'A'
  return index === count - 1 ? 'B' : String(index)
}

/** A map of `routing.list_maps`. */
export interface ServedMap {
  name: string
  bbox: [number, number, number, number]
  attribution: string
  /** what is drawn below; absent or null where there is none */
  base?: {
    minzoom: number
    maxzoom: number
    bbox: [number, number, number, number]
    attribution: string
  } | null
}

/** An arc of a route. */
export interface RouteFeature {
  type: 'Feature'
  geometry: { type: 'LineString'; coordinates: [number, number][] }
  properties: {
    edge_id: number
    length: number
    speed: number
    risk: number
    notes: string[]
    name: string
    /** driving time, hours */
    time: number
    /** true for the last road of a leg */
    waypoint: boolean
  }
}

/** Names of the routes that are compared. */
export type RouteKind = 'around' | 'fastest' | 'other'

/** A route that was found, as the page shows it. */
export interface FoundRoute {
  readonly kind: RouteKind
  /** `around`, `fastest`, or the number of an alternative */
  readonly key: string
  /** undefined for that of the text */
  readonly colour: string | undefined
  readonly route: RouteResult
}

/** A route in the result of `routing.dijkstra`. Lengths in metres, times in hours. */
export interface RouteResult {
  kml?: string
  length: number
  time: number
  total_cost: number
  turn_cost: number
  max_risk: number
  avr_risk: number
  /** Σ level · hours */
  exposure: number
  features: RouteFeature[]
}
