import { EMERGENCY } from '../../routing/conditions/condition.js'
import { packOutcome } from '../../routing/graph/conditions.js'
import type { Tags } from '../extract/osm-objects.js'
import { type Clause, parseConditionalValue, valueWhile } from './conditional-value.js'
import { type Decision, decide, outcomeWhile } from './decision.js'
import { NOT_APPLIED, SUFFIX } from './notes.js'
import type { DirectionRule, Profile, WayClosure, WayRule } from './profile.js'

/** Rules of a way, and what conditions make of them. */
export interface ConditionalRule {
  /** rules while no condition holds; both speeds are 0 where conditions alone open the way */
  readonly rule: WayRule
  /** outcomes of `packOutcome`; undefined = no condition changes the direction */
  readonly forward: Decision | undefined
  readonly backward: Decision | undefined
  /** cause why the way is closed while no condition holds */
  readonly closure: WayClosure | undefined
  /** number of clauses that are obeyed, and of those that are notes only */
  readonly obeyed: number
  readonly noted: number
}

/** Most conditions of one way: its rules are evaluated for each combination of them. */
const MAX_CONDITIONS = 6

/** A conditional tag. */
interface ConditionalTag {
  /** that it stands for, such as `motor_vehicle:forward` */
  readonly key: string
  readonly clauses: readonly Clause[]
}

/** Conditional tags of an object that are obeyed. */
interface Conditionals {
  readonly tags: readonly ConditionalTag[]
  /** conditions, each once, with that of rescue services */
  readonly when: readonly string[]
  readonly applied: Map<string, Set<string>>
  readonly obeyed: number
}

/** Lists the keys whose conditional variants a vehicle obeys. @param modes kinds of vehicle, as in `oneway:bicycle` */
export function conditionalKeys(
  accessKeys: readonly string[],
  modes: readonly string[],
): ReadonlySet<string> {
  const own = modes.flatMap((mode) => [`oneway:${mode}`, `maxspeed:${mode}`])
  return new Set([...accessKeys, 'oneway', 'maxspeed', ...own])
}

/**
 * Reads a way for a profile, under each combination of its conditions.
 *
 * @returns the cause when the way is closed in both directions at all times
 */
export function readWay(profile: Profile, tags: Tags, country: string | null): ConditionalRule | WayClosure {
  const conditionals = readConditionals(profile, tags)
  const { when, applied, obeyed } = conditionals
  const usual = profile.wayRule(tags, country, applied)
  if (when.length === 0) {
    if (typeof usual === 'string') return usual
    return { ...plain(usual), noted: countNoted(usual) }
  }
  const rules: (WayRule | WayClosure)[] = []
  // outcomes are positions of rules, in the order of their combinations
  const all = decide(when, (holds) => {
    rules.push(profile.wayRule(tagsWhile(profile, tags, conditionals, holds), country, applied))
    return rules.length - 1
  })
  const open = rules.filter((one): one is WayRule => typeof one !== 'string')
  const [first] = open
  if (first === undefined) return typeof usual === 'string' ? usual : 'access'
  const decisionOf = (direction: 'forward' | 'backward'): Decision | undefined => {
    const decision = decide(all.when, (holds) => outcomeOfRule(rules[outcomeWhile(all, holds)]!, direction))
    return decision.when.length === 0 ? undefined : decision
  }
  const rule = usualRule(usual, open, first)
  return {
    rule,
    forward: decisionOf('forward'),
    backward: decisionOf('backward'),
    closure: typeof usual === 'string' ? usual : undefined,
    obeyed,
    noted: countNoted(rule),
  }
}

/** Evaluates whether a barrier is closed, 1, or open, 0, under each combination of its conditions. */
export function readBarrier(profile: Profile, tags: Tags): Decision {
  const conditionals = readConditionals(profile, tags)
  return decide(conditionals.when, (holds) =>
    profile.isClosedNode(tagsWhile(profile, tags, conditionals, holds)) ? 1 : 0,
  )
}

function plain(rule: WayRule): Omit<ConditionalRule, 'noted'> {
  return { rule, forward: undefined, backward: undefined, closure: undefined, obeyed: 0 }
}

/** Reads the conditional tags that a profile obeys, as far as they have few conditions. */
function readConditionals(profile: Profile, tags: Tags): Conditionals {
  const found: ConditionalTag[] = []
  const applied = new Map<string, Set<string>>()
  const when = new Set<string>()
  let obeyed = 0
  if (profile.rescueTags?.(tags) !== undefined) when.add(EMERGENCY)
  for (const [written, value] of tags) {
    if (!written.endsWith(SUFFIX)) continue
    const key = written.slice(0, -SUFFIX.length)
    if (!profile.conditionalKeys.has(key.replace(/:(forward|backward)$/, ''))) continue
    const clauses = parseConditionalValue(value).clauses.filter(({ condition }) => {
      if (when.size < MAX_CONDITIONS) when.add(condition)
      return when.has(condition)
    })
    found.push({ key, clauses })
    applied.set(written, new Set(clauses.map(({ text }) => text)))
    obeyed += clauses.length
  }
  return { tags: found, when: [...when], applied, obeyed }
}

/** Returns the tags that hold while some conditions do. */
function tagsWhile(
  profile: Profile,
  tags: Tags,
  conditionals: Conditionals,
  holds: (condition: string) => boolean,
): Tags {
  const changed = new Map(tags)
  for (const { key, clauses } of conditionals.tags) {
    const value = valueWhile(clauses, holds)
    if (value !== undefined) changed.set(key, value)
  }
  return (holds(EMERGENCY) ? profile.rescueTags?.(changed) : undefined) ?? changed
}

function outcomeOfRule(rule: WayRule | WayClosure, direction: 'forward' | 'backward'): number {
  if (typeof rule === 'string') return 0
  const { speedDkmh, flags } = rule[direction]
  return speedDkmh === 0 ? 0 : packOutcome(speedDkmh, flags)
}

/** Returns the rules while no condition holds; what is closed then has the notes and limits that it has when open. */
function usualRule(usual: WayRule | WayClosure, open: readonly WayRule[], first: WayRule): WayRule {
  const directionOf = (direction: 'forward' | 'backward'): DirectionRule => {
    const known = typeof usual === 'string' ? undefined : usual[direction]
    if (known !== undefined && known.speedDkmh > 0) return known
    const opened = open.map((one) => one[direction]).find(({ speedDkmh }) => speedDkmh > 0)
    return { speedDkmh: 0, flags: 0, notes: opened?.notes ?? [], limits: opened?.limits }
  }
  const { name, durationS } = typeof usual === 'string' ? first : usual
  return { forward: directionOf('forward'), backward: directionOf('backward'), name, durationS }
}

/** Counts the conditions of a way that are notes only. */
function countNoted({ forward, backward }: WayRule): number {
  return new Set([...forward.notes, ...backward.notes].filter((note) => note.endsWith(NOT_APPLIED))).size
}
