import { MAX_LEVEL } from './cell-set.js'

/**
 * Stretches of one line with a level each, in any order, overlapping as they like. The arrays may be longer than
 * `count`: they are used again and again, and shortening an array would have it allocated anew.
 */
export interface Stretches {
  count: number
  readonly from: number[]
  readonly to: number[]
  readonly level: number[]
}

/** Pieces that tile a line without gaps: neighbours differ in level, the last ends where the line does. */
export interface Pieces {
  count: number
  readonly end: number[]
  readonly level: number[]
}

export function createStretches(): Stretches {
  return { count: 0, from: [], to: [], level: [] }
}

export function createPieces(): Pieces {
  return { count: 0, end: [], level: [] }
}

export function addStretch(stretches: Stretches, from: number, to: number, level: number): void {
  const at = stretches.count++
  stretches.from[at] = from
  stretches.to[at] = to
  stretches.level[at] = level
}

/** Up to this many stretches are sorted by insertion, in place. */
const FEW = 32

/**
 * Where stretches overlap the highest level wins, and where none is the level is 0.
 *
 * @param stretches their order may be changed
 * @param length of the line, in the unit of the stretches, which lie within it
 * @param pieces filled; reused by the caller
 */
export function stackLevels(stretches: Stretches, length: number, pieces: Pieces): void {
  pieces.count = 0
  const { count, from, to, level } = stretches
  if (count <= FEW) sortFew(stretches)
  if (count <= FEW && isApart(stretches)) {
    for (let at = 0; at < count; at++) {
      addPiece(pieces, from[at]!, 0)
      addPiece(pieces, to[at]!, level[at]!)
    }
  } else if (count <= FEW) {
    sweep(stretches, pieces, inOrder, sortByTo(stretches))
  } else {
    const byFrom = new Uint32Array(count).map((_, index) => index).sort((a, b) => from[a]! - from[b]!)
    sweep(
      stretches,
      pieces,
      byFrom,
      byFrom.slice().sort((a, b) => to[a]! - to[b]!),
    )
  }
  addPiece(pieces, length, 0)
}

/** By `from`, ascending. */
function sortFew({ count, from, to, level }: Stretches): void {
  for (let next = 1; next < count; next++) {
    const start = from[next]!
    const end = to[next]!
    const high = level[next]!
    let at = next
    for (; at > 0 && from[at - 1]! > start; at--) {
      from[at] = from[at - 1]!
      to[at] = to[at - 1]!
      level[at] = level[at - 1]!
    }
    from[at] = start
    to[at] = end
    level[at] = high
  }
}

function isApart({ count, from, to }: Stretches): boolean {
  for (let at = 1; at < count; at++) if (from[at]! < to[at - 1]!) return false
  return true
}

const inOrder = new Uint32Array(FEW).map((_, index) => index)
const byEnd = new Uint32Array(FEW)

/** Positions of few stretches by `to`, ascending. */
function sortByTo({ count, to }: Stretches): Uint32Array {
  for (let next = 0; next < count; next++) {
    const end = to[next]!
    let at = next
    for (; at > 0 && to[byEnd[at - 1]!]! > end; at--) byEnd[at] = byEnd[at - 1]!
    byEnd[at] = next
  }
  return byEnd
}

const openOfLevel = new Int32Array(MAX_LEVEL + 1)

/**
 * Goes along the line from one begin or end of a stretch to the next, knowing how many of each level are open.
 *
 * @param byFrom positions of the stretches by `from`, ascending; `byTo` likewise
 */
function sweep(
  { count, from, to, level }: Stretches,
  pieces: Pieces,
  byFrom: Uint32Array,
  byTo: Uint32Array,
): void {
  openOfLevel.fill(0)
  let opened = 0
  let closed = 0
  while (closed < count) {
    const nextFrom = opened < count ? from[byFrom[opened]!]! : Infinity
    const nextTo = to[byTo[closed]!]!
    addPiece(pieces, Math.min(nextFrom, nextTo), highestOpen())
    if (nextFrom <= nextTo) openOfLevel[level[byFrom[opened++]!]!]!++
    else openOfLevel[level[byTo[closed++]!]!]!--
  }
}

function highestOpen(): number {
  for (let level = MAX_LEVEL; level > 0; level--) if (openOfLevel[level]! > 0) return level
  return 0
}

/** The piece from the end of the last one to `upTo`; one without length is left out, one of the same level makes it longer. */
export function addPiece(pieces: Pieces, upTo: number, newLevel: number): void {
  const { count, end, level } = pieces
  if (upTo <= (count === 0 ? 0 : end[count - 1]!)) return
  if (count > 0 && level[count - 1] === newLevel) {
    end[count - 1] = upTo
    return
  }
  end[count] = upTo
  level[count] = newLevel
  pieces.count++
}
