import type { Member, Tags } from '../extract/osm-objects.js'
import { splitClauses } from '../profile/notes.js'
import type { Profile } from '../profile/profile.js'

/** Turn restriction of OSM: ways and nodes by their ids. */
export interface RawRestriction {
  readonly id: number
  /** no_…: this turn is forbidden; only_…: every other turn is */
  readonly kind: 'no' | 'only'
  /** a turn back into the same way */
  readonly isUTurn: boolean
  readonly from: readonly number[]
  /** one node, or ways in the order of travel */
  readonly viaNode: number | undefined
  readonly viaWays: readonly number[]
  readonly to: readonly number[]
  /** false: it is valid only at times, so it becomes a note on the `from` way and not a rule */
  readonly isRule: boolean
  /** further or only times of validity, as `value @ (condition)` */
  readonly conditions: readonly string[]
}

/**
 * Reason why a relation gives no restriction. `other`: it is none, or not for this profile;
 * `restrictionsOnRed`: it forbids to turn at a red light, which a route does not know about.
 */
type NoRestriction = 'other' | 'restrictionsUnreadable' | 'restrictionsOnRed'

const KIND = /^(no|only)_[a-z_]+$/
const LEGACY_TIMES = ['day_on', 'day_off', 'hour_on', 'hour_off']

/**
 * Reads a relation of `type=restriction` for one profile.
 *
 * @returns the restriction, or the reason why there is none
 * @see https://wiki.openstreetmap.org/wiki/Relation:restriction
 */
export function readRestriction(
  id: number,
  tags: Tags,
  members: readonly Member[],
  profile: Profile,
): RawRestriction | NoRestriction {
  const type = tags.get('type') ?? ''
  if (type !== 'restriction' && !profile.restrictionTags.includes(type)) return 'other'
  const rule = findRule(tags, profile)
  if (rule === undefined) return 'other'
  if (rule.value.endsWith('_on_red')) return 'restrictionsOnRed'
  const match = KIND.exec(rule.value)
  const from = idsOf(members, 'from', 'way')
  const to = idsOf(members, 'to', 'way')
  const viaNodes = idsOf(members, 'via', 'node')
  const viaWays = idsOf(members, 'via', 'way')
  const isVia =
    (viaNodes.length === 1 && viaWays.length === 0) || (viaNodes.length === 0 && viaWays.length > 0)
  const kind = match?.[1]
  if ((kind !== 'no' && kind !== 'only') || from.length === 0 || to.length === 0 || !isVia) {
    return 'restrictionsUnreadable'
  }
  return {
    id,
    kind,
    isUTurn: /^(no|only)_u_turn$/.test(rule.value),
    isRule: rule.isRule,
    from,
    viaNode: viaNodes[0],
    viaWays,
    to,
    conditions: rule.conditions,
  }
}

interface Rule {
  /** no_left_turn and the like */
  readonly value: string
  readonly isRule: boolean
  readonly conditions: readonly string[]
}

/** Rule of the relation for a profile; undefined when it has none, or exempts the profile. */
function findRule(tags: Tags, profile: Profile): Rule | undefined {
  for (const key of profile.restrictionTags) {
    const value = tags.get(key)
    const clauses = splitClauses(tags.get(`${key}:conditional`) ?? '')
    if (value === undefined && clauses.length === 0) continue
    if (isExcepted(tags, key, profile)) return undefined
    const times = legacyTimes(tags)
    if (value !== undefined && times !== '') clauses.push(`${value} @ ${times}`)
    return {
      // the first of a list, which the OSM wiki discourages
      value: (value ?? clauses[0] ?? '').split(/[;@]/)[0]?.trim() ?? '',
      isRule: value !== undefined && times === '',
      conditions: clauses,
    }
  }
  return undefined
}

/**
 * Returns true when `except` exempts the profile: only from the general restriction, not from one for its own
 * vehicle.
 */
function isExcepted(tags: Tags, key: string, profile: Profile): boolean {
  if (key !== 'restriction') return false
  const words = (tags.get('except') ?? '').split(';').map((word) => word.trim())
  return words.some((word) => profile.exceptWords.includes(word))
}

/** Times in the tags that were used before conditional restrictions; '' when there are none. */
function legacyTimes(tags: Tags): string {
  return LEGACY_TIMES.filter((key) => tags.has(key))
    .map((key) => `${key} ${tags.get(key)}`)
    .join(', ')
}

function idsOf(members: readonly Member[], role: string, type: Member['type']): number[] {
  return members.filter((member) => member.role === role && member.type === type).map((member) => member.id)
}
