import { findSegment, type Overlay, type ThemeRisk } from './overlay.js'

/** Milliseconds of an hour: searches use milliseconds, answers hours. */
export const MS_PER_HOUR = 3_600_000

/** Part of a segment between two offsets, with sums over its pieces (parts of one risk level). */
export interface SegmentPart {
  lengthMm: number
  /** Σ length · (1 + Σ sensitivity) over the pieces: divided by the speed it is the cost */
  weightedMm: number
  /** Σ level · length, level = highest among the themes */
  levelMm: number
  /** highest level among the themes */
  maxLevel: number
}

/**
 * Returns the cost of a part in integral milliseconds. It is rounded once, so every caller gets the same
 * number.
 *
 * @param weightedMm `SegmentPart.weightedMm`
 * @param speed 1/10 km/h; 1 km/h is 1e6 mm in 3.6e6 ms, so ms = mm · 36 / speed
 */
export function costMs(weightedMm: number, speed: number): number {
  return Math.round((weightedMm * 36) / speed)
}

/** Returns the driving time in hours, unrounded. @param speed 1/10 km/h; 1 km is 1e6 mm */
export function hours(mm: number, speed: number): number {
  return mm / (speed * 1e5)
}

/**
 * Sums up the pieces of a segment between two offsets. Each theme divides the segment at its own cell
 * borders, so a piece ends where any theme's piece ends.
 *
 * @param fromMm offset from the segment's tail; `fromMm ≤ toMm`
 */
export function measure(
  themes: readonly ThemeRisk[],
  segment: number,
  fromMm: number,
  toMm: number,
): SegmentPart {
  const lengthMm = toMm - fromMm
  if (themes.length === 0) return { lengthMm, weightedMm: lengthMm, levelMm: 0, maxLevel: 0 }
  if (themes.length === 1) return measureOne(themes[0]!, segment, fromMm, toMm)
  const part: SegmentPart = { lengthMm, weightedMm: 0, levelMm: 0, maxLevel: 0 }
  // theme → its current piece, -1 where no cell of it touches the segment
  const pieces = themes.map(({ overlay }) => firstPieceAfter(overlay, segment, fromMm))
  let atMm = fromMm
  while (atMm < toMm) {
    // the highest level and the sum of the sensitivities hold from `atMm` to the nearest end of a piece
    let nextMm = toMm
    let level = 0
    let sensitivity = 0
    for (let theme = 0; theme < themes.length; theme++) {
      const { overlay, sensitivity: bySensitivity } = themes[theme]!
      const piece = pieces[theme]!
      let found = 0
      if (piece >= 0) {
        found = overlay.pieceLevel[piece]!
        const endMm = overlay.pieceEndMm[piece]!
        if (endMm < nextMm) nextMm = endMm
      }
      if (found > level) level = found
      sensitivity += bySensitivity[found]!
    }
    part.weightedMm += (nextMm - atMm) * (1 + sensitivity)
    part.levelMm += (nextMm - atMm) * level
    if (level > part.maxLevel) part.maxLevel = level
    atMm = nextMm
    if (atMm < toMm) advance(themes, pieces, atMm)
  }
  return part
}

/** `measure` for one theme, the common case: needs no list of current pieces. */
function measureOne(
  { overlay, sensitivity }: ThemeRisk,
  segment: number,
  fromMm: number,
  toMm: number,
): SegmentPart {
  const lengthMm = toMm - fromMm
  const at = findSegment(overlay, segment)
  if (at < 0) return { lengthMm, weightedMm: lengthMm * (1 + sensitivity[0]!), levelMm: 0, maxLevel: 0 }
  const { firstPiece, pieceEndMm, pieceLevel } = overlay
  let weightedMm = 0
  let levelMm = 0
  let maxLevel = 0
  let atMm = fromMm
  // pieces cover the whole segment, so the loop needs no bound of its own
  for (let piece = firstPiece[at]!; atMm < toMm; piece++) {
    const endMm = Math.min(pieceEndMm[piece]!, toMm)
    if (endMm <= atMm) continue // before the part
    const level = pieceLevel[piece]!
    weightedMm += (endMm - atMm) * (1 + sensitivity[level]!)
    levelMm += (endMm - atMm) * level
    if (level > maxLevel) maxLevel = level
    atMm = endMm
  }
  return { lengthMm, weightedMm, levelMm, maxLevel }
}

/** Returns true when a piece of a level above 0 overlaps the part in more than an end. */
export function meetsClosed(closed: Overlay, segment: number, fromMm: number, toMm: number): boolean {
  const at = findSegment(closed, segment)
  if (at < 0) return false
  let startMm = 0
  for (let piece = closed.firstPiece[at]!, end = closed.firstPiece[at + 1]!; piece < end; piece++) {
    const endMm = closed.pieceEndMm[piece]!
    if (closed.pieceLevel[piece]! > 0 && startMm < toMm && endMm > fromMm) return true
    startMm = endMm
  }
  return false
}

/** Finds the piece of a segment that contains an offset. @returns -1 when no cell touches the segment */
function firstPieceAfter(overlay: Overlay, segment: number, atMm: number): number {
  const at = findSegment(overlay, segment)
  if (at < 0) return -1
  let piece = overlay.firstPiece[at]!
  // a segment has few pieces: a linear search is enough; at its end the last piece is kept
  while (overlay.pieceEndMm[piece]! <= atMm && piece + 1 < overlay.firstPiece[at + 1]!) piece++
  return piece
}

/** Moves every theme whose piece ends at `atMm` on to its next piece. */
function advance(themes: readonly ThemeRisk[], pieces: number[], atMm: number): void {
  for (let theme = 0; theme < themes.length; theme++) {
    const piece = pieces[theme]!
    if (piece >= 0 && themes[theme]!.overlay.pieceEndMm[piece]! <= atMm) pieces[theme] = piece + 1
  }
}
