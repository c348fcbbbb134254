import type { RoadLimits } from '../../routing/graph/limits.js'
import type { Tags } from '../extract/osm-objects.js'
import type { AppliedClauses } from './notes.js'

/** Speed and access of a way in one direction of travel. */
export interface DirectionRule {
  /** 1/10 km/h; 0 = closed */
  speedDkmh: number
  /** bits of `LINK_FLAG`, without MAIN */
  flags: number
  /** in words, for the answer */
  notes: readonly string[]
  limits: RoadLimits | undefined
}

/** Rules of a way for one kind of traveller. */
export interface WayRule {
  forward: DirectionRule
  backward: DirectionRule
  /** name, else reference number, else '' */
  name: string
  /** time for the whole way, as ferries have it; it replaces both speeds */
  durationS: number | undefined
}

/**
 * Cause why a way is closed to a traveller: its class (a footway for cars), access tags, works, that nobody
 * could use it (a square, an impassable way), or a direction that changes by a timetable.
 */
export type WayClosure = 'class' | 'access' | 'construction' | 'unusable' | 'reversible'

/** Reading of the tags that turn costs need. */
export interface TurnTags {
  /** a node without any of these keys needs no tags */
  readonly nodeKeys: readonly string[]
  /** @returns bits of `SIGN` */
  signOf(tags: Tags): number
  /** @returns rank of a road, and `LEFT_HAND` */
  rankOf(tags: Tags, country: string | null): number
}

/** Reading of OSM tags for one kind of traveller. */
export interface Profile {
  readonly name: 'car' | 'foot' | 'bicycle'
  /** a way without any of these keys is skipped */
  readonly wayKeys: readonly string[]
  /** a node without any of these keys needs no tags */
  readonly nodeKeys: readonly string[]
  /**
   * @param applied conditional keys → their clauses that the map obeys, for the notes
   * @returns the cause when the way is closed in both directions
   */
  wayRule(tags: Tags, country: string | null, applied?: AppliedClauses): WayRule | WayClosure
  /** keys whose conditional variants are obeyed, without `:forward` and `:backward` */
  readonly conditionalKeys: ReadonlySet<string>
  /** returns the tags as rescue services read them; undefined when they are the same */
  rescueTags?(tags: Tags): Tags | undefined
  /** true when the traveller cannot pass the node, such as a bollard for cars */
  isClosedNode(tags: Tags): boolean
  /** tags that hold the kind of a turn restriction, most specific first */
  readonly restrictionTags: readonly string[]
  /** values of a restriction's `except` that exempt this traveller */
  readonly exceptWords: readonly string[]
  /** undefined = turns cost nothing */
  readonly turns?: TurnTags | undefined
}

/** Name of a profile, as `map build --profile` takes it. */
export type ProfileName = Profile['name']
