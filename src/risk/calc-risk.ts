import Flatbush from 'flatbush'
import type { Sliced } from '../routing/search/sliced.js'
import { type Covered, coverLine, type MeasuredLine } from './line-cover.js'
import { addStretch, createPieces, createStretches, type Stretches, stackLevels } from './stack-levels.js'
import type { TimedCells } from './timed-cells.js'
import { type Leg, lineOfLeg } from './travel.js'

/** Exposure of a part of a journey, or of all of it. */
export interface Exposure {
  /** Σ level · hours over the themes */
  total: number
  /** theme → Σ level · hours */
  readonly byTheme: Map<string, number>
  maxLevel: number
  /** Σ highest level among the themes · hours */
  levelHours: number
  lengthM: number
  hours: number
}

export interface TravelRisk extends Exposure {
  readonly legs: readonly (Exposure & { readonly leg: Leg })[]
}

/**
 * What a journey is exposed to: each leg is cut at the borders of the cells, and at the times when cells begin and end
 * to hold; within a theme the highest level of a piece counts, the themes add up.
 *
 * Waiting between two legs is no part of the journey.
 */
export function calcRisk(legs: readonly Leg[], themes: ReadonlyMap<string, TimedCells>): TravelRisk {
  const work = calcRiskSliced(legs, themes)
  for (;;) {
    const slice = work.next()
    if (slice.done === true) return slice.value
  }
}

/** The same, a leg a slice. */
export function* calcRiskSliced(
  legs: readonly Leg[],
  themes: ReadonlyMap<string, TimedCells>,
): Sliced<TravelRisk> {
  const finders = new Map([...themes].map(([theme, timed]) => [theme, createFinder(timed)] as const))
  const parts: (Exposure & { readonly leg: Leg })[] = []
  for (const leg of legs) {
    parts.push({ ...exposureOf(leg, themes, finders), leg })
    yield
  }
  const whole = { ...createExposure(), legs: parts }
  for (const theme of themes.keys()) whole.byTheme.set(theme, 0)
  for (const part of whole.legs) {
    whole.total += part.total
    whole.maxLevel = Math.max(whole.maxLevel, part.maxLevel)
    whole.levelHours += part.levelHours
    whole.lengthM += part.lengthM
    whole.hours += part.hours
    for (const [theme, exposure] of part.byTheme)
      whole.byTheme.set(theme, (whole.byTheme.get(theme) ?? 0) + exposure)
  }
  return whole
}

/** Average level by time, 0 for a journey that takes none. */
export function averageLevel({ levelHours, hours }: Exposure): number {
  return hours > 0 ? levelHours / hours : 0
}

/** Cells whose box meets the box of a line. */
type Finder = (line: MeasuredLine) => number[]

function createExposure(): Exposure {
  return { total: 0, byTheme: new Map(), maxLevel: 0, levelHours: 0, lengthM: 0, hours: 0 }
}

/** Everything is counted in shares of the leg, and multiplied by its hours once: level 2 for 1.5 h is 3 exactly. */
function exposureOf(
  leg: Leg,
  themes: ReadonlyMap<string, TimedCells>,
  finders: ReadonlyMap<string, Finder>,
): Exposure {
  const exposure = { ...createExposure(), lengthM: leg.lengthM, hours: leg.hours }
  const line = lineOfLeg(leg)
  const all = createStretches()
  for (const [theme, timed] of themes) {
    const found = createStretches()
    if (leg.hours > 0)
      for (const cell of finders.get(theme)!(line)) addCellStretches(leg, line, timed, cell, found)
    const levelHours = sumLevels(found).levels * leg.hours
    exposure.byTheme.set(theme, levelHours)
    exposure.total += levelHours
    append(all, found)
  }
  const highest = sumLevels(all)
  exposure.levelHours = highest.levels * leg.hours
  exposure.maxLevel = highest.max
  return exposure
}

/** Below this many cells a look at each box is quicker than an index. */
const LEAST_INDEXED = 64

function createFinder({ cells }: TimedCells): Finder {
  const { box } = cells
  const count = cells.level.length
  if (count < LEAST_INDEXED) {
    const every = Array.from({ length: count }, (_, cell) => cell)
    return ({ west, south, east, north }) =>
      every.filter(
        (cell) =>
          box[cell * 4]! <= east &&
          box[cell * 4 + 1]! <= north &&
          box[cell * 4 + 2]! >= west &&
          box[cell * 4 + 3]! >= south,
      )
  }
  const index = new Flatbush(count)
  for (let at = 0; at < count * 4; at += 4) index.add(box[at]!, box[at + 1]!, box[at + 2]!, box[at + 3]!)
  index.finish()
  return ({ west, south, east, north }) => index.search(west, south, east, north)
}

const covered: Covered = { size: 0, ends: [] }

/** Where the leg is in the cell while the cell holds, as shares of the leg. */
function addCellStretches(
  leg: Leg,
  line: MeasuredLine,
  { cells, originUs, fromUs, untilUs }: TimedCells,
  cell: number,
  found: Stretches,
): void {
  const startUs = Number(leg.startUs - originUs)
  const durationUs = leg.hours * 3.6e9
  const validFrom = (fromUs[cell]! - startUs) / durationUs
  const validTo = (untilUs[cell]! - startUs) / durationUs
  if (validFrom >= 1 || validTo <= 0) return
  coverLine(cells, cell, line, covered)
  for (let at = 0; at < covered.size; at += 2) {
    const from = Math.max(covered.ends[at]!, validFrom)
    const to = Math.min(covered.ends[at + 1]!, validTo)
    if (from < to) addStretch(found, from, to, cells.level[cell]!)
  }
}

const pieces = createPieces()

/** Σ level · share over the highest levels, and the highest of all. */
function sumLevels(stretches: Stretches): { levels: number; max: number } {
  stackLevels(stretches, 1, pieces)
  let levels = 0
  let max = 0
  let start = 0
  for (let piece = 0; piece < pieces.count; piece++) {
    levels += pieces.level[piece]! * (pieces.end[piece]! - start)
    max = Math.max(max, pieces.level[piece]!)
    start = pieces.end[piece]!
  }
  return { levels, max }
}

/** For the highest level among the themes their stretches are stacked together. */
function append(all: Stretches, found: Stretches): void {
  for (let at = 0; at < found.count; at++) addStretch(all, found.from[at]!, found.to[at]!, found.level[at]!)
}
