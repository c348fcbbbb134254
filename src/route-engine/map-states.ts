import { type Condition, holdsFor, isTimed, parseCondition } from '../routing/conditions/condition.js'
import { createTimetable } from '../routing/conditions/timetable.js'
import type { Vehicle } from '../routing/conditions/vehicle.js'
import { conditionsOf } from '../routing/graph/conditions.js'
import type { Graph } from '../routing/graph/graph.js'
import { fastestGraph, graphWhile, UNKNOWN } from '../routing/graph/graph-state.js'

/** A map while the same conditions hold. */
export interface MapState {
  /** equal keys mean equal graphs; '' = no condition holds */
  readonly key: string
  readonly graph: Graph
  /** end of this state, or an earlier instant, µs UTC; undefined = it does not depend on the time */
  readonly untilUs: bigint | undefined
}

/** States of a map over time, for its vehicles. */
export interface MapStates {
  /** @param instantUs µs UTC; undefined = no time is given, and no condition of times holds */
  stateAt(instantUs: bigint | undefined, vehicle: Vehicle | undefined): MapState
  /**
   * Lists the instants after a departure at which other conditions begin to hold, µs UTC, ascending: within
   * some days, and at most `limit`.
   */
  changesAfter(departUs: bigint, limit: number): bigint[]
  /** Returns the map on which no road costs a vehicle more than at any time. */
  fastest(vehicle: Vehicle | undefined): Omit<MapState, 'untilUs'>
}

const US_PER_MS = 1000n
const MS_PER_DAY = 86_400_000
/** Longest journeys whose roads may change: a slower one keeps the conditions of its last day. */
const MAX_JOURNEY_MS = 10 * MS_PER_DAY
/** States whose graphs were freed are forgotten when there are this many. */
const MAX_KNOWN = 100

/** Creates the states of a map. Their graphs live as long as profiles or requests use them. */
export function createMapStates(graph: Graph): MapStates {
  const texts = conditionsOf(graph)?.conditions ?? []
  const conditions = texts.map(conditionOf)
  const timetable = createTimetable(graph.meta.timeZone ?? 'UTC', conditions)
  const known = new Map<string, WeakRef<Graph>>()
  const remember = (key: string, make: () => Graph): Graph => {
    const found = known.get(key)?.deref()
    if (found !== undefined) return found
    if (known.size >= MAX_KNOWN) {
      for (const [old, reference] of known) if (reference.deref() === undefined) known.delete(old)
    }
    const made = make()
    known.set(key, new WeakRef(made))
    return made
  }
  const hasTimes = conditions.some(isTimed)

  return {
    stateAt(instantUs, vehicle = {}) {
      const slot = instantUs === undefined ? undefined : timetable.slotAt(Number(instantUs / US_PER_MS))
      const holds = Uint8Array.from(conditions, (condition, i) => {
        const isTime = !isTimed(condition) || slot?.holds[i] === 1
        return isTime && holdsFor(condition, vehicle) ? 1 : 0
      })
      const untilUs = slot === undefined || !hasTimes ? undefined : BigInt(slot.endMs) * US_PER_MS
      if (!holds.includes(1)) return { key: '', graph, untilUs }
      const key = holds.join('')
      return { key, graph: remember(key, () => graphWhile(graph, holds)), untilUs }
    },
    changesAfter(departUs, limit) {
      const changes: bigint[] = []
      if (!hasTimes) return changes
      const departMs = Number(departUs / US_PER_MS)
      let slot = timetable.slotAt(departMs)
      while (changes.length < limit && slot.endMs < departMs + MAX_JOURNEY_MS) {
        const next = timetable.slotAt(slot.endMs)
        if (next.holds.some((holds, i) => holds !== slot.holds[i]))
          changes.push(BigInt(next.startMs) * US_PER_MS)
        slot = next
      }
      return changes
    },
    fastest(vehicle = {}) {
      const holds = Uint8Array.from(conditions, (condition) => {
        if (!holdsFor(condition, vehicle)) return 0
        return isTimed(condition) ? UNKNOWN : 1
      })
      if (holds.every((one) => one === 0)) return { key: '', graph }
      const key = holds.join('')
      return { key, graph: remember(key, () => fastestGraph(graph, holds)) }
    },
  }
}

function conditionOf(text: string): Condition {
  const condition = parseCondition(text)
  // the check of the map file has read it
  if (condition === undefined) throw new Error(`not a condition: ${text}`)
  return condition
}
