import { createGrowing, filled, push } from '../arrays/growing.js'
import { NODE_STATE, type RoadData } from '../roads/read-roads.js'
import type { Pieces } from './pieces.js'

/**
 * Chains of pieces that follow each other without a junction or a change in between. Each chain becomes a
 * segment.
 *
 * A step is `piece * 2 + side`: side 0 runs along the nodes of the piece, 1 against them. A chain runs along
 * its piece with the smallest number.
 */
export interface Chains {
  readonly count: number
  /** chain → its steps are `steps[first[chain] … first[chain + 1])` */
  readonly first: Uint32Array
  readonly steps: Uint32Array
}

const NONE = 0xffffffff

/**
 * Joins pieces at nodes where exactly two ends of roads with equal attributes meet; loops and parallel pieces
 * stay apart. Linear in the pieces.
 */
export function joinPieces(roads: RoadData, pieces: Pieces): Chains {
  const joints = pairEnds(roads, pieces)
  const first = createGrowing(Uint32Array, pieces.count + 1)
  const steps = createGrowing(Uint32Array, pieces.count)
  const isUsed = new Uint8Array(pieces.count)
  push(first, 0)
  for (let piece = 0; piece < pieces.count; piece++) {
    if (isUsed[piece] === 1) continue
    let step = firstStep(roads, pieces, joints, piece)
    do {
      isUsed[step >>> 1] = 1
      push(steps, step)
      step = nextStep(roads, pieces, joints, step)
    } while (step !== NONE && isUsed[step >>> 1] === 0)
    push(first, steps.length)
  }
  return { count: first.length - 1, first: filled(first), steps: filled(steps) }
}

/** Returns the node at the end of a step. */
export function stepEnd({ nodes, from, to }: Pieces, step: number): number {
  return nodes[(step & 1) === 0 ? to[step >>> 1]! : from[step >>> 1]!]!
}

/** Returns the node at the beginning of a step. */
export function stepStart(pieces: Pieces, step: number): number {
  return stepEnd(pieces, step ^ 1)
}

/**
 * Node → exclusive or of the two steps that leave it, where exactly two do and may be joined; else `NONE`.
 * Each step is found from the other, at four bytes a node.
 */
function pairEnds({ nodeState }: RoadData, pieces: Pieces): Uint32Array {
  const joints = new Uint32Array(nodeState.length).fill(NONE)
  const stays = NODE_STATE.CLOSED | NODE_STATE.FORCED
  for (let step = 0; step < pieces.count * 2; step++) {
    const node = stepStart(pieces, step)
    if (pieces.degree[node] !== 2 || (nodeState[node]! & stays) !== 0) continue
    joints[node] = joints[node] === NONE ? step : joints[node]! ^ step
  }
  return joints
}

/** Step that continues where another ends; `NONE` at a junction or a change of attributes. */
function nextStep(roads: RoadData, pieces: Pieces, joints: Uint32Array, step: number): number {
  const joint = joints[stepEnd(pieces, step)]!
  if (joint === NONE) return NONE
  const next = joint ^ (step ^ 1) // the two steps that leave the node are the reverse of this one and the next
  const isItself = next >>> 1 === step >>> 1 // a ring of one piece ends where it began
  return !isItself && isAlike(roads, pieces, step, next) ? next : NONE
}

/** Walks back from a piece to the first step of its chain; a ring begins at the piece. */
function firstStep(roads: RoadData, pieces: Pieces, joints: Uint32Array, piece: number): number {
  const start = piece * 2
  let step = start
  for (;;) {
    const before = nextStep(roads, pieces, joints, step ^ 1)
    if (before === NONE) return step
    step = before ^ 1
    if (step === start) return start
  }
}

/** Returns true for the same name and rank, and equal attributes and conditions in each direction of travel. */
function isAlike(roads: RoadData, { way }: Pieces, a: number, b: number): boolean {
  const wayA = way[a >>> 1]!
  const wayB = way[b >>> 1]!
  if (roads.wayName[wayA] !== roads.wayName[wayB]) return false
  if (roads.wayRank[wayA] !== roads.wayRank[wayB]) return false
  const isTurned = (a & 1) !== (b & 1)
  const { forwardSpeed, backwardSpeed, forwardFlags, backwardFlags, forwardNotes, backwardNotes } = roads
  return (
    isSame(forwardSpeed, backwardSpeed, wayA, wayB, isTurned) &&
    isSame(forwardFlags, backwardFlags, wayA, wayB, isTurned) &&
    isSame(forwardNotes, backwardNotes, wayA, wayB, isTurned) &&
    hasSame(roads.limits.get(wayA), roads.limits.get(wayB), isTurned) &&
    hasSame(roads.conditional.get(wayA), roads.conditional.get(wayB), isTurned)
  )
}

/** Values by direction, of ways that have any. */
type Directed = { readonly forward: unknown; readonly backward: unknown } | undefined

function hasSame(a: Directed, b: Directed, isTurned: boolean): boolean {
  if (a === undefined || b === undefined) return a === b
  const keyOf = ({ forward, backward }: NonNullable<Directed>, isBack: boolean) =>
    JSON.stringify(isBack ? [backward ?? null, forward ?? null] : [forward ?? null, backward ?? null])
  return keyOf(a, false) === keyOf(b, isTurned)
}

function isSame(
  forward: ArrayLike<number>,
  backward: ArrayLike<number>,
  wayA: number,
  wayB: number,
  isTurned: boolean,
): boolean {
  return isTurned
    ? forward[wayA] === backward[wayB] && backward[wayA] === forward[wayB]
    : forward[wayA] === forward[wayB] && backward[wayA] === backward[wayB]
}
