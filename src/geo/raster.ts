/** A set of cells of a grid, a bit each. Cells have integer coordinates, y up. */
export interface Raster {
  readonly width: number
  readonly height: number
  /** words of a row; bits behind `width` are 0 */
  readonly rowWords: number
  /** rows from y = 0 on; bit `x % 32` of word `x / 32` is cell x */
  readonly words: Uint32Array
}

/** Words between two pauses: some milliseconds. */
const SLICE_WORDS = 1 << 16

/** Creates an empty set: a bit a cell. */
export function createRaster(width: number, height: number): Raster {
  const rowWords = Math.ceil(width / 32)
  return { width, height, rowWords, words: new Uint32Array(rowWords * height) }
}

/** Returns true for a cell of the set. Cells outside the grid are not in it. */
export function hasCell({ width, height, rowWords, words }: Raster, x: number, y: number): boolean {
  if (x < 0 || y < 0 || x >= width || y >= height) return false
  return ((words[y * rowWords + (x >>> 5)]! >>> (x & 31)) & 1) === 1
}

/**
 * Adds the cells along a straight line, both ends included. Each point of the line is within 1.42 of a cell that
 * is added, and each of those within 0.71 of the line.
 *
 * @param ax in cells, like the others; both ends inside the grid
 */
export function addLine({ rowWords, words }: Raster, ax: number, ay: number, bx: number, by: number): void {
  const [dx, dy] = [bx - ax, by - ay]
  const steps = Math.max(1, Math.ceil(Math.max(Math.abs(dx), Math.abs(dy))))
  for (let step = 0; step <= steps; step++) {
    const x = Math.round(ax + (dx * step) / steps)
    const y = Math.round(ay + (dy * step) / steps)
    words[y * rowWords + (x >>> 5)]! |= 1 << (x & 31)
  }
}

/**
 * Adds all cells within a distance of a cell of the set. A slice is some milliseconds. Cost: some 100 operations
 * for 32 cells at a radius of 8.
 *
 * @param radius cells; cells of the set must be farther than this from the borders of the grid
 */
export function* dilate(raster: Raster, radius: number): Generator<undefined, Raster, undefined> {
  const { width, height, rowWords, words } = raster
  const grown = createRaster(width, height)
  const row = new Uint32Array(rowWords)
  for (let y = 0; y < height; y++) {
    const begin = y * rowWords
    row.set(words.subarray(begin, begin + rowWords))
    // the disc is as wide as `reach` in the rows up to `dy` away, so the widest rows come last
    let reach = 0
    for (let dy = radius; dy >= 0; dy--) {
      const wanted = Math.floor(Math.sqrt(radius * radius - dy * dy))
      for (; reach < wanted; reach++) widenRow(row)
      if (y - dy >= 0) addRow(grown, y - dy, row)
      if (dy > 0 && y + dy < height) addRow(grown, y + dy, row)
    }
    if ((begin + rowWords) % SLICE_WORDS < rowWords) yield
  }
  clearMargin(grown)
  return grown
}

/**
 * Leaves the cells whose surroundings up to a distance are all in the set. Slices and cost as those of `dilate`.
 *
 * @param radius cells; cells of the set must be farther than this from the borders of the grid
 */
export function* erode(raster: Raster, radius: number): Generator<undefined, Raster, undefined> {
  const outside = yield* dilate(inverted(raster), radius)
  return inverted(outside)
}

function inverted({ words, ...grid }: Raster): Raster {
  const other = { ...grid, words: words.map((word) => ~word) }
  clearMargin(other)
  return other
}

/** Adds the neighbours of a row's cells to it. */
function widenRow(row: Uint32Array): void {
  let before = 0
  let word = row[0]!
  for (let i = 0; i < row.length; i++) {
    const after = row[i + 1] ?? 0
    row[i] = word | (word << 1) | (before >>> 31) | (word >>> 1) | (after << 31)
    before = word
    word = after
  }
}

function addRow({ rowWords, words }: Raster, y: number, row: Uint32Array): void {
  const begin = y * rowWords
  for (let i = 0; i < rowWords; i++) words[begin + i]! |= row[i]!
}

/** Clears the bits behind the last cell of each row. */
function clearMargin({ width, rowWords, words }: Raster): void {
  if (width % 32 === 0) return
  const mask = 2 ** (width % 32) - 1
  for (let at = rowWords - 1; at < words.length; at += rowWords) words[at]! &= mask
}
