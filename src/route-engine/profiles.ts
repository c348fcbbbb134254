import type { Config } from '../config/config.js'
import { invalidParams } from '../errors.js'
import type { Geometry } from '../geo/types.js'
import { buildOverlaySliced } from '../risk/build-overlay.js'
import { addCell, createCellSet } from '../risk/cell-set.js'
import type { Vehicle } from '../routing/conditions/vehicle.js'
import type { Graph } from '../routing/graph/graph.js'
import { closedToVehicle } from '../routing/graph/limits.js'
import type { End } from '../routing/search/dijkstra.js'
import type { Overlay } from '../routing/search/overlay.js'
import { createProfile, type Profile } from '../routing/search/profile.js'
import { MAX_SLOTS } from '../routing/search/timed-search.js'
import { throwIfCancelled, type Work } from '../worker/host.js'
import type { Engine } from './engine.js'
import type { MapState } from './map-states.js'
import type { LoadedMap, Maps } from './maps.js'
import { NEVER_ENDED, type Prefetcher } from './prefetch.js'
import { createProfileStore } from './profile-store.js'
import type { Owned, ProfileRequest, RouteRequest } from './requests.js'
import { runSliced } from './run-sliced.js'
import { inSnapshot, prepareThemes, type Themes, withRowsOf } from './themes.js'
import { createTimeline, type WatchedTimeline } from './timeline.js'

const US_PER_S = 1_000_000n
/** Level of a closed cell: any level above 0 closes. */
const CLOSED_LEVEL = 10

/** Profiles of maps under risk, cached with their metrics up to `routing.profileCacheBytes`. */
export interface Profiles {
  /** @throws AppError UNKNOWN_THEME */
  profileAt(map: LoadedMap, request: Owned, closed?: Overlay): Profile
  /** Returns the profiles from the departure of a request on. @throws AppError UNKNOWN_THEME */
  timeline(map: LoadedMap, request: Owned<RouteRequest>, closed?: Overlay): WatchedTimeline
  /** Returns the profile without risk on which no road costs a vehicle more than at any time. */
  fastest(map: LoadedMap, request: Owned): Profile
  /**
   * Prepares maps that come into memory for searches without risk, when the worker is idle, and forgets all
   * profiles of those that leave it.
   */
  serve(maps: Pick<Maps, 'watch'>): void
  /** Returns figures for metrics. */
  stats(): { profileBytes: number; profileCount: number }
}

interface DatedProfile {
  readonly profile: Profile
  /** end of the slot in which the profile is valid, µs UTC; undefined = never */
  readonly untilUs: bigint | undefined
}

/** Other parts of the worker that profiles are computed from. */
interface ProfileParts {
  readonly themes: Themes
  readonly engine: Pick<Engine, 'register' | 'prepare' | 'potentialTo'>
  readonly prefetcher: Pick<Prefetcher, 'noteUse' | 'whenIdle' | 'forget'>
}

/** Creates the cache of profiles, and registers every profile's weights with the engine. */
export function createProfiles(config: Config, { themes, engine, prefetcher }: ProfileParts): Profiles {
  const { riskSlotS, profileCacheBytes } = config.routing
  const store = createProfileStore(profileCacheBytes, engine)

  const datedProfile = (
    map: LoadedMap,
    request: Owned,
    instantUs: bigint | undefined,
    closed?: Overlay,
  ): DatedProfile => {
    const state = stateOf(map, request, instantUs)
    const { graph } = state
    const risks = request.themes.map(([name, sensitivity]) => {
      // requests with themes give their time
      const atUs = instantUs ?? 0n
      const used = themes.overlayOf(themes.find(name), map, atUs, request.owner)
      prefetcher.noteUse(name, map, used, atUs)
      return { overlay: used.overlay, used, sensitivity }
    })
    const untilUs = earliest([state.untilUs, ...risks.map((risk) => risk.used.slot.untilUs)])
    // equal overlays and sensitivities give equal weights; the key of an overlay contains the map's
    // generation
    const closedLinks = linksClosedTo(map, request.vehicle)
    const risksKey = JSON.stringify(risks.map((risk) => [risk.used.key, risk.sensitivity]))
    const ownVehicle = closedLinks === undefined ? '' : vehicleKey(request)
    const key = `${map.generation}|${state.key}|${risksKey}|${ownVehicle}`
    const known = store.get(key)
    if (closed !== undefined) {
      const profile = createProfile(graph, risks, closed, closedLinks)
      store.register(map, profile, known === undefined ? [] : [known.weights])
      return { profile, untilUs }
    }
    if (known !== undefined) return { profile: known, untilUs }
    const profile = createProfile(graph, risks, undefined, closedLinks)
    return { profile: store.keep(map, request, key, profile), untilUs }
  }

  const fastest = (map: LoadedMap, request: Owned): Profile => {
    const { key: stateKey, graph } = map.states.fastest(request.vehicle)
    const key = `${map.generation}|fastest|${stateKey}`
    return store.get(key) ?? store.keep(map, { ...request, themes: [] }, key, createProfile(graph))
  }

  /** Prepares the profile of the next slot when the worker is idle and the slot begins soon. */
  const prepareNext = (map: LoadedMap, request: Owned, untilUs: bigint): void => {
    if (request.startUs === undefined || untilUs - request.startUs > BigInt(riskSlotS) * US_PER_S) return
    prefetcher.whenIdle(
      `${map.generation}|${JSON.stringify(request.themes)}|${vehicleKey(request)}|${untilUs}`,
      async () => {
        const { weights } = await withRowsOf(themes, request, async () => {
          await prepareThemes(
            themes,
            map,
            { ...request, startUs: untilUs },
            { ...NEVER_ENDED, owner: request.owner },
          )
          return inSnapshot(themes, request, () => datedProfile(map, request, untilUs)).profile
        })
        await engine.prepare(weights)
      },
    )
  }

  return {
    profileAt(map, request, closed) {
      const { profile, untilUs } = datedProfile(map, request, request.startUs, closed)
      if (closed === undefined && untilUs !== undefined) prepareNext(map, request, untilUs)
      return profile
    },
    timeline(map, request, closed) {
      const profileAt = (instantUs: bigint) => datedProfile(map, request, instantUs, closed).profile
      const changes = map.states.changesAfter(request.startUs, MAX_SLOTS)
      const timeline = createTimeline(themes, request, changes, profileAt)
      const { graph, weights } = fastest(map, request)
      const potentialTo = (targets: readonly End[]) => engine.potentialTo(map, targets, weights)
      return { ...timeline, fastest: graph, potentialTo }
    },
    fastest,
    serve: (maps) => maps.watch(mapHooks({ themes, engine, prefetcher }, store)),
    stats: store.stats,
  }
}

/** Makes what happens with maps that come into memory, and that leave it. */
function mapHooks(
  { themes, engine, prefetcher }: ProfileParts,
  store: ReturnType<typeof createProfileStore>,
): Parameters<Maps['watch']>[0] {
  return {
    onLoad(map) {
      const profile = createProfile(map.graph)
      store.register(map, profile, [])
      prefetcher.whenIdle(`${map.generation}`, () => engine.prepare(profile.weights))
    },
    onDrop({ generation }) {
      prefetcher.forget(`${generation}`)
      store.forget(`${generation}|`)
      themes.forget(generation)
    },
  }
}

/**
 * Returns the state of a map at an instant for the vehicle of a request.
 *
 * @throws AppError INVALID_PARAMS for rescue services on a map that does not know what is open to them
 */
export function stateOf(
  { name, graph, states }: LoadedMap,
  { vehicle }: Pick<ProfileRequest, 'vehicle'>,
  instantUs: bigint | undefined,
): MapState {
  if (vehicle?.isEmergency === true && graph.conditions === undefined) {
    const message = `the map ${JSON.stringify(name)} was built without roads for rescue services: build it again`
    throw invalidParams([{ path: '$.vehicle.emergency', message }])
  }
  return states.stateAt(instantUs, vehicle)
}

/**
 * Returns the links of a map that are closed to a vehicle; undefined when none is.
 *
 * @throws AppError INVALID_PARAMS for a map that was built without limits
 */
function linksClosedTo({ name, graph }: LoadedMap, vehicle: Vehicle | undefined): Set<number> | undefined {
  if (vehicle === undefined) return undefined
  if (graph.limits === undefined) {
    const message = `the map ${JSON.stringify(name)} was built without limits for vehicles: build it again`
    throw invalidParams([{ path: '$.vehicle', message }])
  }
  const links = closedToVehicle(graph.limits, vehicle)
  return links.length === 0 ? undefined : new Set(links)
}

function vehicleKey({ vehicle }: ProfileRequest): string {
  return JSON.stringify(vehicle ?? null)
}

/**
 * Returns closed areas as an overlay; undefined when there are none. Other calls are answered meanwhile: an
 * area may have thousands of corners.
 *
 * @throws AppError CANCELLED
 */
export async function closedOverlay(
  graph: Graph,
  areas: readonly Geometry[],
  work: Pick<Work, 'cancel' | 'nextTurn'>,
): Promise<Overlay | undefined> {
  if (areas.length === 0) return undefined
  const cells = createCellSet()
  for (const area of areas) addCell(cells, area, CLOSED_LEVEL)
  const task = buildOverlaySliced(graph, cells, () => throwIfCancelled(work))
  return await runSliced(task, work)
}

function earliest(instants: readonly (bigint | undefined)[]): bigint | undefined {
  let first: bigint | undefined
  for (const us of instants) if (us !== undefined && (first === undefined || us < first)) first = us
  return first
}
