import type { Tags } from '../extract/osm-objects.js'
import { bicycleProfile } from './bicycle.js'
import { carProfile } from './car.js'
import { footProfile } from './foot.js'

/** What one direction of a way allows. */
export interface DirectionRule {
  /** 1/10 km/h; 0 = closed */
  speedDkmh: number
  /** bits of `LINK_FLAG`, without MAIN */
  flags: number
  /** in words, for the answer */
  notes: readonly string[]
}

/** What a way is to a kind of traveller. */
export interface WayRule {
  forward: DirectionRule
  backward: DirectionRule
  /** name, else reference number, else '' */
  name: string
  /** time for the whole way, as ferries have it; it takes the place of both speeds */
  durationS: number | undefined
}

/** How one kind of traveller reads OSM tags. */
export interface Profile {
  readonly name: 'car' | 'foot' | 'bicycle'
  /** a way without any of these keys is of no interest */
  readonly wayKeys: readonly string[]
  /** likewise for nodes */
  readonly nodeKeys: readonly string[]
  /** @returns undefined when the way is closed in both directions */
  wayRule(tags: Tags, country: string | null): WayRule | undefined
  /** true when nobody gets past the node, a bollard for instance */
  isClosedNode(tags: Tags): boolean
  /** tags that hold the kind of a turn restriction, most specific first */
  readonly restrictionTags: readonly string[]
  /** words in a restriction's `except` that free this traveller from it */
  readonly exceptWords: readonly string[]
}

export type ProfileName = Profile['name']

export const PROFILE_NAMES = ['car', 'foot', 'bicycle'] as const

export function findProfile(name: ProfileName): Profile {
  if (name === 'foot') return footProfile
  return name === 'bicycle' ? bicycleProfile : carProfile
}
