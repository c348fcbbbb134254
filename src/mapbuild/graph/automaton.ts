import type { TurnRule } from '../network/turn-rules.js'

/** State of a traveller who is in the middle of no turn rule. */
export const ROOT = 0

/**
 * Automaton of turn rules. Its state is the longest sequence of links just driven that begins a rule; it
 * covers all rules begun at once, because shorter sequences are ends of the longest.
 *
 * @see A. V. Aho, M. J. Corasick, "Efficient string matching: an aid to bibliographic search", 1975
 */
export interface Automaton {
  /** Returns true when no rule forbids a link in a state. */
  isAllowed(memory: number, link: number): boolean
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
  readonly forbidden: Set<number>
  /** empty = any link */
  readonly only: Set<number>
}

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
    isAllowed: (memory, link) => isAllowed(memories, memory, link),
    next: (memory, link) => nextMemory(memories, memory, link),
    lastLink: (memory) => memories[memory]!.last,
  }
}

function createMemory(last: number): Memory {
  return { shorter: ROOT, last, nexts: new Map(), forbidden: new Set(), only: new Set() }
}

function addRule(memories: Memory[], { kind, links }: TurnRule): void {
  let memory = ROOT
  for (const link of links.slice(0, -1)) memory = extend(memories, memory, link)
  const target = links[links.length - 1]!
  // several `only` rules of the same way and place allow each of their targets
  const set = kind === 'no' ? memories[memory]!.forbidden : memories[memory]!.only
  set.add(target)
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

/** Checks the rules of a state and of all its shorter ends. */
function isAllowed(memories: readonly Memory[], from: number, link: number): boolean {
  for (let memory = from; memory !== ROOT; memory = memories[memory]!.shorter) {
    const { forbidden, only } = memories[memory]!
    if (forbidden.has(link) || (only.size > 0 && !only.has(link))) return false
  }
  return true
}
