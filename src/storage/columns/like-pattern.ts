/** Test of a text. */
export type LikeMatcher = (text: string) => boolean

/** Longest piece that is searched by `indexOf`, whose worst case is the product of both lengths. */
const MAX_PLAIN_UNITS = 64

/**
 * A stretch of a pattern between two `%`: code points, with `undefined` for each `_`; or a text when it has
 * no `_`.
 */
interface Piece {
  readonly points: readonly (string | undefined)[]
  /** the piece itself; undefined with a `_` */
  readonly text: string | undefined
  /** table of Knuth, Morris and Pratt, for a long text */
  readonly borders: Int32Array | undefined
}

/**
 * Compiles a pattern of `LIKE` as PostgreSQL reads it: `%` is any text, `_` any character, case matters, and
 * a backslash takes the character after it literally.
 *
 * Each piece between two `%` is found leftmost, which decides the match: linear in the text for pieces
 * without `_`. A piece with `_` is compared at each place, and may cost its length times the text's.
 *
 * @param throwIfEnded called now and then while a text is searched
 */
export function compileLike(pattern: string, throwIfEnded: () => void = () => undefined): LikeMatcher {
  const pieces = splitPattern(pattern).map(toPiece)
  const [first, ...rest] = pieces as [Piece, ...Piece[]] // a text without `%` is one piece
  const last = rest.pop()
  if (last === undefined) return (text) => matchAt(text, 0, first) === text.length
  return (text) => {
    let at = matchAt(text, 0, first)
    if (at < 0) return false
    for (const piece of rest) {
      at = findPiece(text, at, piece, throwIfEnded)
      if (at < 0) return false
    }
    const start = startOfEnd(text, last.points.length)
    return start >= at && matchAt(text, start, last) === text.length
  }
}

/** Comparisons for each character of a text that a piece without `_` takes, about. */
const PLAIN_STEPS = 1 / 16

/** Returns the comparisons that a pattern may need for each character of a text. */
export function likeSteps(pattern: string): number {
  const searched = splitPattern(pattern).slice(1, -1)
  const costs = searched.map((points) => (points.includes(undefined) ? points.length : PLAIN_STEPS))
  return costs.reduce((sum, cost) => sum + cost, PLAIN_STEPS)
}

/** Returns the pieces between `%` as code points. */
function splitPattern(pattern: string): (string | undefined)[][] {
  const pieces: (string | undefined)[][] = [[]]
  let isEscaped = false
  for (const point of pattern) {
    const open = pieces.at(-1) as (string | undefined)[]
    if (!isEscaped && point === '\\') {
      isEscaped = true
      continue
    }
    if (!isEscaped && point === '%') pieces.push([])
    else open.push(!isEscaped && point === '_' ? undefined : point)
    isEscaped = false
  }
  return pieces
}

function toPiece(points: readonly (string | undefined)[]): Piece {
  const text = points.includes(undefined) ? undefined : points.join('')
  const isLong = text !== undefined && text.length > MAX_PLAIN_UNITS
  return { points, text, borders: isLong ? bordersOf(text) : undefined }
}

/** Returns the place after a piece that begins at a place; -1 when it does not. */
function matchAt(text: string, start: number, { points, text: plain }: Piece): number {
  if (plain !== undefined) return text.startsWith(plain, start) ? start + plain.length : -1
  let at = start
  for (const point of points) {
    if (at >= text.length) return -1
    if (point === undefined) at += unitsAt(text, at)
    else if (text.startsWith(point, at)) at += point.length
    else return -1
  }
  return at
}

/** Returns the place after the leftmost occurrence of a piece; -1 when there is none. */
function findPiece(text: string, from: number, piece: Piece, throwIfEnded: () => void): number {
  const { text: plain, borders, points } = piece
  if (borders !== undefined) return findLong(text, from, plain as string, borders)
  if (plain !== undefined) {
    const found = text.indexOf(plain, from)
    return found < 0 ? -1 : found + plain.length
  }
  const everySteps = Math.max(1, Math.floor(STEPS_BETWEEN_LOOKS / points.length))
  let steps = 0
  for (let at = from; at < text.length; at += unitsAt(text, at)) {
    const end = matchAt(text, at, piece)
    if (end >= 0) return end
    if (++steps % everySteps === 0) throwIfEnded()
  }
  return -1
}

/** Comparisons of code points between two looks at the cancel flag: about 10 ms. */
const STEPS_BETWEEN_LOOKS = 200_000

/**
 * Returns the place after the leftmost occurrence of a long text.
 *
 * @see D. E. Knuth, J. H. Morris, V. R. Pratt, "Fast pattern matching in strings", 1977
 */
function findLong(text: string, from: number, wanted: string, borders: Int32Array): number {
  let matched = 0
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = borders[matched - 1] as number
    if (wanted.charCodeAt(matched) === unit) matched++
    if (matched === wanted.length) return at + 1
  }
  return -1
}

/** Returns for each prefix the length of its longest proper prefix that is also its end. */
function bordersOf(wanted: string): Int32Array {
  const borders = new Int32Array(wanted.length)
  let matched = 0
  for (let at = 1; at < wanted.length; at++) {
    const unit = wanted.charCodeAt(at)
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = borders[matched - 1] as number
    if (wanted.charCodeAt(matched) === unit) matched++
    borders[at] = matched
  }
  return borders
}

/** Returns the place of the last `count` characters of a text; -1 when it has fewer. */
function startOfEnd(text: string, count: number): number {
  let at = text.length
  for (let left = count; left > 0; left--) {
    if (at === 0) return -1
    at -= at > 1 && isPair(text, at - 2) ? 2 : 1
  }
  return at
}

/** Returns 2 for a character beyond U+FFFF, which takes two units, else 1. */
function unitsAt(text: string, at: number): number {
  return isPair(text, at) ? 2 : 1
}

function isPair(text: string, at: number): boolean {
  const high = text.charCodeAt(at)
  if (high < 0xd800 || high > 0xdbff) return false
  const low = text.charCodeAt(at + 1)
  return low >= 0xdc00 && low <= 0xdfff
}
