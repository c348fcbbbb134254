/** What the map page shows. It outlives the page, so that going away and coming back loses nothing. */
export interface MapState {
  mapName: string | undefined
  /** start, via points, goal: lng, lat in degrees */
  points: [number, number][]
  /** risk themes that are shown and weighed → 11 sensitivities */
  themes: Map<string, number[]>
  /** event tables that are shown */
  events: Set<string>
  /** ms since 1970: the time of the risk map and of the start of routes */
  atMs: number
  /** what the slider covers; undefined until the data was looked at */
  spanMs: [number, number] | undefined
  /** 0 = the stored cells */
  degree: number
  reorder: boolean
  timeDependent: boolean
  alternatives: number
  camera: { center: [number, number]; zoom: number } | undefined
}

export const mapState: MapState = {
  mapName: undefined,
  points: [],
  themes: new Map(),
  events: new Set(),
  atMs: Date.now(),
  spanMs: undefined,
  degree: 0,
  reorder: false,
  timeDependent: false,
  alternatives: 1,
  camera: undefined,
}

/** Colours of the levels 0 to 10, from calm to danger; told apart by those who see no red or green, too. */
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

export function riskColour(level: number): string {
  return RISK_COLOURS[Math.max(0, Math.min(10, Math.round(level)))] ?? RISK_COLOURS[0]
}

/** Label of a point of a route: A for the start, B for the destination, numbers for via points. */
export function pinLabel(index: number, count: number): string {
  if (index === 0) return 'A'
  return index === count - 1 ? 'B' : String(index)
}

export interface ServedMap {
  name: string
  bbox: [number, number, number, number]
  attribution: string
}

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
    time: number
  }
}

/** One way of an answer of `routing.dijkstra`. */
export interface RouteResult {
  kml?: string
  length: number
  time: number
  total_cost: number
  max_risk: number
  avr_risk: number
  features: RouteFeature[]
}
