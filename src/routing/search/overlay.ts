/**
 * Risk levels of one theme at one instant on the segments of one map.
 *
 * Only segments that some cell touches are listed. The pieces of a listed segment cover it from its tail to
 * its head without gaps, so the last piece ends at the segment's length.
 */
export interface Overlay {
  /** listed segments, ascending */
  readonly segments: Uint32Array
  /** position in `segments` → its first piece; one entry more than `segments` */
  readonly firstPiece: Uint32Array
  /** piece → offset of its end from the segment's tail, millimetres; ascending within a segment */
  readonly pieceEndMm: Uint32Array
  /** piece → level 0 to 10 */
  readonly pieceLevel: Uint8Array
}

/** Theme of a search: where its levels are, and what each level costs. */
export interface ThemeRisk {
  readonly overlay: Overlay
  /**
   * level 0 to 10 → relative extra cost: a piece of that level costs `time * (1 + sensitivity)`; finite, ≥ 0
   */
  readonly sensitivity: readonly number[]
}

/**
 * Finds a segment by binary search.
 *
 * @returns its position in `overlay.segments`, -1 when no cell touches it
 */
export function findSegment(overlay: Overlay, segment: number): number {
  const { segments } = overlay
  let low = 0
  let high = segments.length - 1
  while (low <= high) {
    const middle = (low + high) >>> 1
    const found = segments[middle]!
    if (found === segment) return middle
    if (found < segment) low = middle + 1
    else high = middle - 1
  }
  return -1
}
