import { MAX_LEVEL } from './cell-set.js'

/** Up to this many stretches are sorted by insertion, in place. */
const FEW = 32

/**
 * Stretches of one line, each with a level, in any order; they may overlap. The arrays may be longer than
 * `count`: they are reused, and shortening an array would make the next use allocate again.
 */
export interface Stretches {
  count: number
  /** stretch → begin and end, distances along the line in the caller's unit; and level, 1 to 10 */
  readonly from: number[]
  readonly to: number[]
  readonly level: number[]
  /** working memory of `stackLevels`: few stretches by `to`, and level → open stretches */
  readonly byTo: Uint32Array
  readonly openOfLevel: Int32Array
}

/**
 * Pieces that tile a line without gaps: neighbours differ in level, and the last piece ends with the line.
 */
export interface Pieces {
  count: number
  /** piece → its end, distance along the line; it begins where the one before ends, the first at 0 */
  readonly end: number[]
  /** piece → level, 0 to 10 */
  readonly level: number[]
}

/** Returns an empty list of stretches. */
export function createStretches(): Stretches {
  return {
    count: 0,
    from: [],
    to: [],
    level: [],
    byTo: new Uint32Array(FEW),
    openOfLevel: new Int32Array(MAX_LEVEL + 1),
  }
}

/** Returns an empty list of pieces. */
export function createPieces(): Pieces {
  return { count: 0, end: [], level: [] }
}

/** Appends a stretch. */
export function addStretch(stretches: Stretches, from: number, to: number, level: number): void {
  const at = stretches.count++
  stretches.from[at] = from
  stretches.to[at] = to
  stretches.level[at] = level
}

/**
 * Turns overlapping stretches into pieces: the highest level wins, and where no stretch is the level is 0.
 *
 * Cost: O(n log n) for n stretches; up to 32 are sorted by insertion and allocate nothing.
 *
 * @param stretches all within the line; their order may change
 * @param length length of the line, in the unit of the stretches
 * @param pieces receives the pieces
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
    sweep(stretches, pieces, IN_ORDER, sortByTo(stretches))
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

/** Sorts stretches by `from`, ascending, in place. */
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

/** 0, 1, 2 …: the order of stretches that are sorted in place. */
const IN_ORDER = new Uint32Array(FEW).map((_, index) => index)

/** Indexes of few stretches by `to`, ascending. */
function sortByTo({ count, to, byTo }: Stretches): Uint32Array {
  for (let next = 0; next < count; next++) {
    const end = to[next]!
    let at = next
    for (; at > 0 && to[byTo[at - 1]!]! > end; at--) byTo[at] = byTo[at - 1]!
    byTo[at] = next
  }
  return byTo
}

/**
 * Sweeps along the line from one begin or end of a stretch to the next, counting the open stretches of each
 * level.
 *
 * @param byFrom indexes of the stretches by `from`, ascending; `byTo` likewise
 */
function sweep(
  { count, from, to, level, openOfLevel }: Stretches,
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
    addPiece(pieces, Math.min(nextFrom, nextTo), highestOpen(openOfLevel))
    if (nextFrom <= nextTo) openOfLevel[level[byFrom[opened++]!]!]!++
    else openOfLevel[level[byTo[closed++]!]!]!--
  }
}

function highestOpen(openOfLevel: Int32Array): number {
  for (let level = MAX_LEVEL; level > 0; level--) if (openOfLevel[level]! > 0) return level
  return 0
}

/**
 * Adds the piece from the end of the last one to `upTo`. A piece without length is dropped; one of the same
 * level makes the last one longer.
 */
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
