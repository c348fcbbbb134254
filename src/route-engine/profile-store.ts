import { chooseKind, metricBytes } from '../routing/cch/customise.js'
import type { Weights } from '../routing/search/dijkstra.js'
import { freeWeights, type Profile } from '../routing/search/profile.js'
import { createByteCache } from './byte-cache.js'
import type { Engine } from './engine.js'
import type { LoadedMap } from './maps.js'
import type { Owned } from './requests.js'

/**
 * Most combinations of themes and sensitivities whose last profile is known, far more than the cache of
 * profiles holds.
 */
const MAX_SIMILAR = 1000

/**
 * Cache of profiles, whose weights it registers with the engine. The bytes of a profile include those of its
 * metric.
 */
interface ProfileStore {
  get(key: string): Profile | undefined
  /** Adds a profile under a key, in the share of who asked for it. @returns the profile */
  keep(map: LoadedMap, request: Owned, key: string, profile: Profile): Profile
  /** Registers the weights of a profile that is not kept. @param similar weights that differ little */
  register(map: LoadedMap, profile: Profile, similar: readonly Weights[]): void
  /** Forgets every profile whose key begins with a prefix. */
  forget(prefix: string): void
  /** Returns figures for metrics. */
  stats(): { profileBytes: number; profileCount: number }
}

/** Bytes of a profile beside its metric and what the map has anyway. */
function bytesOf({ graph }: LoadedMap, profile: Profile): number {
  // without risk, and under the conditions that hold
  const arrays = new Set([freeWeights(graph), freeWeights(profile.graph), profile.weights])
  const weights = [...arrays].slice(1).reduce((sum, { byteLength }) => sum + byteLength, 0)
  if (profile.graph === graph) return weights
  const { linkSpeed, linkFlags, linkStartArc } = profile.graph
  return weights + linkSpeed.byteLength + linkFlags.byteLength + linkStartArc.byteLength
}

/** @param maxBytes `routing.profileCacheBytes` */
export function createProfileStore(maxBytes: number, engine: Pick<Engine, 'register'>): ProfileStore {
  const cache = createByteCache<Profile>(maxBytes)
  /**
   * themes and sensitivities on a map → key of the profile used last, at whatever instant and state of the
   * tables
   */
  const lastKeyOf = createByteCache<string>(MAX_SIMILAR)

  /**
   * A profile that does not fit the cache would be customised for each request: flat Dijkstra is faster
   * there.
   */
  const register = (
    map: LoadedMap,
    { themes, weights }: Profile,
    similar: readonly Weights[],
    onBytes?: (bytes: number) => void,
  ): void => {
    if (map.hierarchy === undefined) return
    const free = freeWeights(map.graph)
    const isFree = weights === free
    const kind = chooseKind(weights, isFree ? [] : themes)
    if (weights.byteLength + metricBytes(map.hierarchy, kind) > maxBytes) return
    // free-flow weights live as long as their map, and every other customisation may start from them
    if (isFree) engine.register(map, { weights, kind, bases: [] })
    else engine.register(map, { weights, kind, bases: [...similar, free], onBytes })
  }

  return {
    get: (key) => cache.get(key),
    keep(map, request, key, profile) {
      const similarKey = `${map.generation}|${JSON.stringify([request.themes, request.vehicle ?? null])}`
      const similar = cache.get(lastKeyOf.get(similarKey) ?? '')
      const ownBytes = key.length + bytesOf(map, profile)
      cache.set(key, profile, ownBytes, request.owner)
      lastKeyOf.set(similarKey, key, 1)
      register(map, profile, similar === undefined ? [] : [similar.weights], (bytes) => {
        if (cache.get(key) === profile) cache.set(key, profile, ownBytes + bytes, request.owner)
      })
      return profile
    },
    forget(prefix) {
      cache.deletePrefix(prefix)
      lastKeyOf.deletePrefix(prefix)
    },
    register: (map, profile, similar) => register(map, profile, similar),
    stats: () => ({ profileBytes: cache.bytes(), profileCount: cache.size() }),
  }
}
