import { parseCondition } from '../../routing/conditions/condition.js'
import type { Member, Tags } from '../extract/osm-objects.js'
import { type Clause, parseConditionalValue, valueWhile } from '../profile/conditional-value.js'
import { type Decision, decide } from '../profile/decision.js'
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
  /** valid at all times */
  readonly isRule: boolean
  /** kinds that are valid while conditions hold or do not; beside them no rule is */
  readonly timed: readonly TimedKind[]
  /** clauses `value @ (condition)`, for notes on the `from` way */
  readonly conditions: readonly string[]
  /** those of them that `timed` obeys */
  readonly obeyed: ReadonlySet<string>
}

/** Kind of a restriction, and when it is valid: 1, or not: 0. */
export interface TimedKind {
  readonly kind: 'no' | 'only'
  readonly decision: Decision
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
    timed: rule.timed,
    obeyed: rule.obeyed,
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
  readonly timed: readonly TimedKind[]
  readonly conditions: readonly string[]
  readonly obeyed: ReadonlySet<string>
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
    const usual = value === undefined || times !== '' ? undefined : value
    const read = readClauses(clauses)
    const timed = read.length === 0 ? [] : timedKinds(usual, read)
    return {
      // the first of a list, which the OSM wiki discourages
      value: (value ?? clauses[0] ?? '').split(/[;@]/)[0]?.trim() ?? '',
      isRule: usual !== undefined && timed.length === 0,
      timed,
      conditions: clauses,
      obeyed: new Set(timed.length === 0 ? [] : read.map(({ text }) => text)),
    }
  }
  return undefined
}

/** Most conditions of one restriction. */
const MAX_CONDITIONS = 6

/** Returns the clauses that are read, as far as they have few conditions. */
function readClauses(written: readonly string[]): Clause[] {
  const when = new Set<string>()
  return parseConditionalValue(written.join(';')).clauses.filter(({ condition, value }) => {
    if (kindOf(value) === undefined && value !== 'none') return false
    if (when.size < MAX_CONDITIONS) when.add(condition)
    return when.has(condition)
  })
}

/** Lists the kinds of a restriction with the times at which each is valid. @param usual value when no clause holds */
function timedKinds(usual: string | undefined, clauses: readonly Clause[]): TimedKind[] {
  const when = [...new Set(clauses.map(({ condition }) => condition))]
  return (['no', 'only'] as const)
    .map((kind) => ({
      kind,
      decision: decide(when, (holds) => (kindOf(valueWhile(clauses, holds) ?? usual) === kind ? 1 : 0)),
    }))
    .filter(({ decision }) => decision.out.includes(1))
}

/** Kind of a value such as `no_left_turn`; undefined for `none`, and for bans at a red light. */
function kindOf(value: string | undefined): 'no' | 'only' | undefined {
  const kind = KIND.exec(value ?? '')?.[1]
  if (kind !== 'no' && kind !== 'only') return undefined
  return value?.endsWith('_on_red') === true ? undefined : kind
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

/**
 * Times in the tags that were used before conditional restrictions, as a condition where all of them are
 * known; '' when there are none.
 */
function legacyTimes(tags: Tags): string {
  const [dayOn, dayOff, hourOn, hourOff] = LEGACY_TIMES.map((key) => tags.get(key))
  const hours = hourOn !== undefined && hourOff !== undefined ? `${hourOn}-${hourOff}` : ''
  const days = dayOn !== undefined && dayOff !== undefined ? `${dayOn}-${dayOff}` : ''
  const condition = `${days} ${hours}`.trim()
  const isPaired =
    (dayOn === undefined) === (dayOff === undefined) && (hourOn === undefined) === (hourOff === undefined)
  if (isPaired && parseCondition(condition) !== undefined) return `(${condition})`
  return LEGACY_TIMES.filter((key) => tags.has(key))
    .map((key) => `${key} ${tags.get(key)}`)
    .join(', ')
}

function idsOf(members: readonly Member[], role: string, type: Member['type']): number[] {
  return members.filter((member) => member.role === role && member.type === type).map((member) => member.id)
}
