import type { Tags } from '../extract/osm-objects.js'
import { lookUp } from './tag-values.js'

/**
 * Highest speeds of OSRM's car profile by surface, track type and smoothness, km/h. OSRM compares them with
 * 0.8 of a limit, this program with the limit itself: see `OSRM_SHARE`.
 */
const SURFACE: Record<string, number> = {
  cement: 80,
  compacted: 80,
  fine_gravel: 80,
  paving_stones: 60,
  metal: 60,
  bricks: 60,
  grass: 40,
  wood: 40,
  sett: 40,
  grass_paver: 40,
  gravel: 40,
  unpaved: 40,
  laterite: 40,
  ground: 40,
  dirt: 40,
  pebblestone: 40,
  tartan: 40,
  cobblestone: 30,
  clay: 30,
  earth: 20,
  stone: 20,
  rocky: 20,
  sand: 20,
  snow: 20,
  ice: 20,
  mud: 10,
}
const TRACKTYPE: Record<string, number> = { grade1: 60, grade2: 40, grade3: 30, grade4: 25, grade5: 20 }
const SMOOTHNESS: Record<string, number> = {
  intermediate: 80,
  bad: 40,
  very_bad: 20,
  horrible: 10,
  very_horrible: 5,
}

/** Share of a speed limit at which OSRM drives. */
const OSRM_SHARE = 0.8

/**
 * Highest speed that surface, track type and smoothness of a way allow, km/h; `Infinity` when none is tagged.
 */
export function surfaceLimitKmh(tags: Tags): number {
  const limitKmh = Math.min(
    lookUp(SURFACE, tags.get('surface')) ?? Number.POSITIVE_INFINITY,
    lookUp(TRACKTYPE, tags.get('tracktype')) ?? Number.POSITIVE_INFINITY,
    lookUp(SMOOTHNESS, tags.get('smoothness')) ?? Number.POSITIVE_INFINITY,
  )
  return limitKmh / OSRM_SHARE
}
