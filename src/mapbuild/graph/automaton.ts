import { MAX_WHEN } from '../../routing/graph/conditions.js'
import type { TurnRule } from '../network/turn-rules.js'
import { combine, type Decision, usualOutcome } from '../profile/decision.js'

/** State of a traveller who is in the middle of no turn rule. */
export const ROOT = 0

/**
 * Automaton of turn rules. Its state is the longest sequence of links just driven that begins a rule; it
 * covers all rules begun at once, because shorter sequences are ends of the longest.
 *
 * @see A. V. Aho, M. J. Corasick, "Efficient string matching: an aid to bibliographic search", 1975
 */
export interface Automaton {
  /** Returns true when no rule forbids a link in a state while no condition holds. */
  isAllowed(memory: number, link: number): boolean
  /** Returns whether rules forbid a link in a state: 1 = forbidden; undefined = at no time. */
  banOf(memory: number, link: number): Decision | undefined
  /** Returns the state after driving a link. */
  next(memory: number, link: number): number
  /** Returns the link driven last; -1 in the state `ROOT`, which does not tell it. */
  lastLink(memory: number): number
}

/** State: a sequence of links that begins a rule. */
interface Memory {
  /** longest proper end of this sequence that begins a rule too */
  shorter: number
  /** link driven last, -1 = any */
  readonly last: number
  /** link → longer state */
  readonly nexts: Map<number, number>
  /** link → 1 while it is forbidden */
  readonly forbidden: Map<number, Decision>
  /** link → 1 while it is one of those that must follow; empty = any link */
  readonly only: Map<number, Decision>
}

/** Outcome of rules without conditions. */
const ALWAYS: Decision = { when: [], out: [1] }

/**
 * Builds the automaton of some rules. Linear in the sum of their lengths.
 *
 * @param told links that have states of their own, also where no rule begins with them
 */
export function buildAutomaton(rules: readonly TurnRule[], told: Iterable<number> = []): Automaton {
  const memories: Memory[] = [createMemory(-1)]
  for (const rule of rules) addRule(memories, rule)
  for (const link of told) extend(memories, ROOT, link)
  linkShorter(memories)
  return {
    isAllowed(memory, link) {
      const ban = banOf(memories, memory, link)
      return ban === undefined || usualOutcome(ban) === 0
    },
    banOf: (memory, link) => banOf(memories, memory, link),
    next: (memory, link) => nextMemory(memories, memory, link),
    lastLink: (memory) => memories[memory]!.last,
  }
}

function createMemory(last: number): Memory {
  return { shorter: ROOT, last, nexts: new Map(), forbidden: new Map(), only: new Map() }
}

function addRule(memories: Memory[], { kind, links, decision = ALWAYS }: TurnRule): void {
  let memory = ROOT
  for (const link of links.slice(0, -1)) memory = extend(memories, memory, link)
  const target = links[links.length - 1]!
  // several `only` rules of the same way and place allow each of their targets
  const known = kind === 'no' ? memories[memory]!.forbidden : memories[memory]!.only
  known.set(target, anyOf([...listOf(known.get(target)), decision]))
}

/** Returns the state of a sequence with one more link; creates it when it is new. */
function extend(memories: Memory[], memory: number, link: number): number {
  let next = memories[memory]!.nexts.get(link)
  if (next === undefined) {
    next = memories.length
    memories.push(createMemory(link))
    memories[memory]!.nexts.set(link, next)
  }
  return next
}

/**
 * Sets `shorter` of all states, breadth first, so that it is set for shorter sequences before it is needed.
 */
function linkShorter(memories: Memory[]): void {
  const queue = [ROOT]
  for (const memory of queue) {
    for (const [link, next] of memories[memory]!.nexts) {
      if (memory !== ROOT) memories[next]!.shorter = nextMemory(memories, memories[memory]!.shorter, link)
      queue.push(next)
    }
  }
}

function nextMemory(memories: readonly Memory[], from: number, link: number): number {
  let memory = from
  for (;;) {
    const next = memories[memory]!.nexts.get(link)
    if (next !== undefined) return next
    if (memory === ROOT) return ROOT
    memory = memories[memory]!.shorter
  }
}

/** Combines the rules of a state and of all its shorter ends. */
function banOf(memories: readonly Memory[], from: number, link: number): Decision | undefined {
  const bans: Decision[] = []
  for (let memory = from; memory !== ROOT; memory = memories[memory]!.shorter) {
    const { forbidden, only } = memories[memory]!
    bans.push(...listOf(forbidden.get(link)))
    if (only.size === 0 || only.get(link) === ALWAYS) continue
    const others = anyOf([...only.values()])
    bans.push(without(others, only.get(link)))
  }
  if (bans.length === 0) return undefined
  const ban = anyOf(bans)
  return ban.out.includes(1) ? ban : undefined
}

function listOf(decision: Decision | undefined): Decision[] {
  return decision === undefined ? [] : [decision]
}

/**
 * Returns 1 while any of some decisions does. Beyond `MAX_WHEN` conditions at one turn the last ones are not
 * obeyed.
 */
function anyOf(decisions: readonly Decision[]): Decision {
  const [first = ALWAYS] = decisions
  if (decisions.length <= 1) return first
  if (decisions.some(({ when, out }) => when.length === 0 && out[0] === 1)) return ALWAYS
  const any = combine(decisions, MAX_WHEN, (outcomes) => (outcomes.includes(1) ? 1 : 0))
  return any ?? anyOf(decisions.slice(0, -1))
}

/** Returns 1 while one decision does and another does not. */
function without(decision: Decision, exception: Decision | undefined): Decision {
  if (exception === undefined) return decision
  const rest = combine([decision, exception], MAX_WHEN, ([is, isNot]) => (is === 1 && isNot === 0 ? 1 : 0))
  return rest ?? decision
}
