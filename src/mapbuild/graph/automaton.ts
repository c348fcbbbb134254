import type { TurnRule } from '../network/turn-rules.js'

/** The memory of a traveller who has no turn restriction under way. */
export const ROOT = 0

/**
 * What a traveller must remember to obey turn rules: the longest run of links just driven that begins a rule.
 * One memory stands for all rules under way at once, for the shorter runs are ends of the longest.
 *
 * @see A. V. Aho, M. J. Corasick, "Efficient string matching: an aid to bibliographic search", 1975
 */
export interface Automaton {
  isAllowed(memory: number, link: number): boolean
  /** memory after driving a link */
  next(memory: number, link: number): number
}

interface Memory {
  /** longest proper end of this run that begins a rule as well */
  shorter: number
  readonly nexts: Map<number, number>
  readonly forbidden: Set<number>
  /** empty = anything */
  readonly only: Set<number>
}

export function buildAutomaton(rules: readonly TurnRule[]): Automaton {
  const memories: Memory[] = [createMemory()]
  for (const rule of rules) addRule(memories, rule)
  linkShorter(memories)
  return {
    isAllowed: (memory, link) => isAllowed(memories, memory, link),
    next: (memory, link) => nextMemory(memories, memory, link),
  }
}

function createMemory(): Memory {
  return { shorter: ROOT, nexts: new Map(), forbidden: new Set(), only: new Set() }
}

function addRule(memories: Memory[], { kind, links }: TurnRule): void {
  let memory = ROOT
  for (const link of links.slice(0, -1)) {
    let next = memories[memory]!.nexts.get(link)
    if (next === undefined) {
      next = memories.length
      memories.push(createMemory())
      memories[memory]!.nexts.set(link, next)
    }
    memory = next
  }
  const target = links[links.length - 1]!
  // several `only` rules of the same way and place leave their targets to choose from
  const set = kind === 'no' ? memories[memory]!.forbidden : memories[memory]!.only
  set.add(target)
}

/** Breadth first, so that `shorter` of shorter runs is there when it is needed. */
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

/** Every rule under way has its say. */
function isAllowed(memories: readonly Memory[], from: number, link: number): boolean {
  for (let memory = from; memory !== ROOT; memory = memories[memory]!.shorter) {
    const { forbidden, only } = memories[memory]!
    if (forbidden.has(link) || (only.size > 0 && !only.has(link))) return false
  }
  return true
}
