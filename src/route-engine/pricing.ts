import type { Config } from '../config.js'
import type { Geometry } from '../geo/types.js'
import { buildOverlay } from '../risk/build-overlay.js'
import { addCell, createCellSet } from '../risk/cell-set.js'
import { chooseKind, metricBytes } from '../routing/cch/customise.js'
import type { Graph } from '../routing/graph/graph.js'
import { createByteCache } from '../routing/search/byte-cache.js'
import type { Weights } from '../routing/search/dijkstra.js'
import type { Overlay } from '../routing/search/overlay.js'
import { createProfile, freeWeights, type Profile } from '../routing/search/profile.js'
import type { PriceRequest } from '../routing/search/request.js'
import { slotStarts } from '../routing/search/slots.js'
import { MAX_SLOTS, type Timetable } from '../routing/search/time-dependent.js'
import type { Ahead } from './ahead.js'
import type { Engine } from './engine.js'
import type { LoadedMap } from './maps.js'
import type { Theme, Themes } from './themes.js'

const US_PER_MS = 1000n
const US_PER_S = 1_000_000n
/** Themes with their sensitivities that are remembered; by far more than a profile cache holds. */
const MAX_ALIKE = 1000
/** A level that must not be driven, whatever the sensitivities. */
const CLOSED_LEVEL = 10

/** Prices of roads under risk, kept with what searches need of them while they fit `routing.profileCacheBytes`. */
export interface Prices {
  /** @throws AppError UNKNOWN_THEME */
  profileAt(map: LoadedMap, request: PriceRequest, instantUs: bigint, closed?: Overlay): Profile
  /** Prices over time, from the departure on. @throws AppError UNKNOWN_THEME */
  timetable(map: LoadedMap, request: PriceRequest, closed?: Overlay): WatchedTimetable
  /** Gets maps ready for searches without risk, when nothing else is to be done. */
  warm(maps: readonly LoadedMap[]): void
  stats(): { profileBytes: number; profileCount: number }
}

/** Prices are read when a search gets to them, so a table may change in between. */
export interface WatchedTimetable extends Timetable {
  /** true when prices of two states of a table were given: what was found with them is worth nothing */
  isMixed(): boolean
}

interface Priced {
  readonly profile: Profile
  /** when the prices change next, undefined = never */
  readonly untilUs: bigint | undefined
}

/** @param ahead told what is in use, and given what can wait */
export function openPrices(
  config: Config,
  themes: Themes,
  engine: Pick<Engine, 'adopt' | 'ready' | 'boundTo'>,
  ahead: Pick<Ahead, 'noteUse' | 'later'>,
): Prices {
  const { profileCacheBytes, riskSlotS } = config.routing
  const profiles = createByteCache<Profile>(profileCacheBytes)
  /** themes and sensitivities on a map → the profile that was last in use, at whatever instant and state of the tables */
  const lastAlike = createByteCache<string>(MAX_ALIKE)

  const priceAt = (map: LoadedMap, request: PriceRequest, instantUs: bigint, closed?: Overlay): Priced => {
    const risks = request.themes.map(([name, sensitivity]) => {
      const used = themes.overlayOf(themes.find(name), map, instantUs)
      ahead.noteUse(name, map, used, instantUs)
      return { overlay: used.overlay, used, sensitivity }
    })
    const untilUs = earliest(risks.map((risk) => risk.used.slot.untilUs))
    // equal keys and sensitivities price every road alike; the map's generation is part of each overlay's key
    const key = `${map.generation}|${JSON.stringify(risks.map((risk) => [risk.used.key, risk.sensitivity]))}`
    const known = profiles.get(key)
    if (closed !== undefined) {
      const profile = createProfile(map.graph, risks, closed)
      adopt(map, profile, known === undefined ? [] : [known.weights])
      return { profile, untilUs }
    }
    return { profile: known ?? keep(map, request, key, createProfile(map.graph, risks)), untilUs }
  }

  /** When the prices change soon, those that come after are made ready before they are asked for. */
  const prepareNext = (map: LoadedMap, request: PriceRequest, instantUs: bigint, untilUs: bigint): void => {
    if (untilUs - instantUs > BigInt(riskSlotS) * US_PER_S) return
    ahead.later(`${map.generation}|${JSON.stringify(request.themes)}|${untilUs}`, async () => {
      const { profile } = themes.reading(() => priceAt(map, request, untilUs))
      await engine.ready(profile.weights)
    })
  }

  const keep = (map: LoadedMap, request: PriceRequest, key: string, profile: Profile): Profile => {
    const alikeKey = `${map.generation}|${JSON.stringify(request.themes)}`
    const alike = profiles.get(lastAlike.get(alikeKey) ?? '')
    const ownBytes =
      key.length + (profile.weights === freeWeights(map.graph) ? 0 : profile.weights.byteLength)
    profiles.set(key, profile, ownBytes)
    lastAlike.set(alikeKey, key, 1)
    adopt(map, profile, alike === undefined ? [] : [alike.weights], (bytes) => {
      if (profiles.get(key) === profile) profiles.set(key, profile, ownBytes + bytes)
    })
    return profile
  }

  /** What does not fit the cache would be made anew for each request: there the plain search is faster. */
  const adopt = (
    map: LoadedMap,
    { graph, themes: priced, weights }: Profile,
    alike: readonly Weights[],
    onBytes?: (bytes: number) => void,
  ): void => {
    if (map.hierarchy === undefined) return
    const free = freeWeights(graph)
    const kind = chooseKind(weights, weights === free ? [] : priced)
    if (weights.byteLength + metricBytes(map.hierarchy, kind) > profileCacheBytes) return
    if (weights === free)
      engine.adopt(map, free, kind, []) // kept as long as its map: all others begin with it
    else engine.adopt(map, weights, kind, [...alike, free], onBytes)
  }
  return {
    profileAt(map, request, instantUs, closed) {
      const { profile, untilUs } = priceAt(map, request, instantUs, closed)
      if (closed === undefined && untilUs !== undefined) prepareNext(map, request, instantUs, untilUs)
      return profile
    },
    timetable(map, request, closed) {
      const priced = (instantUs: bigint) => priceAt(map, request, instantUs, closed).profile
      const timetable = createTimetable(themes, request, priced)
      return { ...timetable, boundTo: (targets) => engine.boundTo(map, targets) }
    },
    warm(maps) {
      for (const map of maps) {
        const profile = createProfile(map.graph)
        adopt(map, profile, [])
        ahead.later(`${map.generation}`, () => engine.ready(profile.weights))
      }
    },
    stats: () => ({ profileBytes: profiles.bytes(), profileCount: profiles.size() }),
  }
}

/** Slots of all themes of a request together. */
function createTimetable(
  themes: Themes,
  request: PriceRequest,
  profileAt: (instantUs: bigint) => Profile,
): WatchedTimetable {
  const found = request.themes.map(([name]) => themes.find(name))
  const starts = slotStarts(found.map(changesOf), request.startUs, MAX_SLOTS)
  const made: Profile[] = []
  let isMixed = false
  const priceSlot = (slot: number): Profile =>
    themes.reading(() => {
      isMixed ||= found.some((theme, i) => !isSameState(theme, themes.find(request.themes[i]?.[0] ?? '')))
      return profileAt(starts[slot] ?? request.startUs)
    })
  return {
    slotStartMs: starts.map((startUs) => Number((startUs - request.startUs + US_PER_MS - 1n) / US_PER_MS)),
    profileOf(slot) {
      made[slot] ??= priceSlot(slot)
      return made[slot]
    },
    isMixed: () => isMixed,
  }
}

function isSameState(a: Theme, b: Theme): boolean {
  return a.table.tableId === b.table.tableId && a.version === b.version
}

/** Areas as closed roads; undefined when there are none. */
export function closedBy(graph: Graph, areas: readonly Geometry[]): Overlay | undefined {
  if (areas.length === 0) return undefined
  const cells = createCellSet()
  for (const area of areas) addCell(cells, area, CLOSED_LEVEL)
  return buildOverlay(graph, cells)
}

function earliest(instants: readonly (bigint | undefined)[]): bigint | undefined {
  let first: bigint | undefined
  for (const us of instants) if (us !== undefined && (first === undefined || us < first)) first = us
  return first
}

/** A table with too many changes to list is taken as it is at the departure. */
function changesOf(theme: Theme): readonly bigint[] {
  return theme.changes ?? []
}
