import Flatbush from 'flatbush'
import type { SlicedTask } from '../routing/search/sliced-task.js'
import { type Covered, coverLine, createCovered, type MeasuredLine } from './line-cover.js'
import {
  addStretch,
  createPieces,
  createStretches,
  type Pieces,
  type Stretches,
  stackLevels,
} from './stack-levels.js'
import type { TimedCells } from './timed-cells.js'
import { type Leg, lineOfLeg } from './travel.js'

/** Exposure of a journey or of a part of it: level of risk multiplied by time. */
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

/** Exposure of a journey, and of each of its legs. */
export interface TravelRisk extends Exposure {
  readonly legs: readonly (Exposure & { readonly leg: Leg })[]
}

/**
 * Calculates the exposure of a journey. Each leg is cut at the borders of the cells and at the times when
 * cells begin and cease to be valid. Within a theme the highest level of a piece counts; themes add up.
 * Waiting between two legs does not count.
 *
 * @param themes theme → its cells
 */
export function calcRisk(legs: readonly Leg[], themes: ReadonlyMap<string, TimedCells>): TravelRisk {
  const work = calcRiskSliced(legs, themes)
  for (;;) {
    const slice = work.next()
    if (slice.done === true) return slice.value
  }
}

/** Does the work of `calcRisk` in slices, one for each leg. */
export function* calcRiskSliced(
  legs: readonly Leg[],
  themes: ReadonlyMap<string, TimedCells>,
): SlicedTask<TravelRisk> {
  const work: Work = {
    themes: [...themes].map(([theme, timed]) => ({ theme, timed, find: createFinder(timed) })),
    covered: createCovered(),
    pieces: createPieces(),
  }
  const parts: (Exposure & { readonly leg: Leg })[] = []
  for (const leg of legs) {
    parts.push({ ...exposureOf(leg, work), leg })
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

/** Returns the average level by time; 0 for a journey that takes no time. */
export function averageLevel({ levelHours, hours }: Exposure): number {
  return hours > 0 ? levelHours / hours : 0
}

/** Returns the cells whose box meets the box of a line. */
type Finder = (line: MeasuredLine) => number[]

/** Themes of a journey, and working memory. */
interface Work {
  readonly themes: readonly { readonly theme: string; readonly timed: TimedCells; readonly find: Finder }[]
  readonly covered: Covered
  readonly pieces: Pieces
}

function createExposure(): Exposure {
  return { total: 0, byTheme: new Map(), maxLevel: 0, levelHours: 0, lengthM: 0, hours: 0 }
}

/**
 * Exposure of a leg. Sums are in shares of the leg, multiplied by its hours once: level 2 for 1.5 h is
 * exactly 3.
 */
function exposureOf(leg: Leg, { themes, covered, pieces }: Work): Exposure {
  const exposure = { ...createExposure(), lengthM: leg.lengthM, hours: leg.hours }
  const line = lineOfLeg(leg)
  const all = createStretches()
  for (const { theme, timed, find } of themes) {
    const found = createStretches()
    for (const cell of leg.hours > 0 ? find(line) : []) {
      const valid = validShares(leg, timed, cell)
      if (valid.from >= 1 || valid.to <= 0) continue
      coverLine(timed.cells, cell, line, covered)
      addValid(covered, valid, timed.cells.level[cell]!, found)
    }
    const levelHours = sumLevels(found, pieces).levels * leg.hours
    exposure.byTheme.set(theme, levelHours)
    exposure.total += levelHours
    append(all, found)
  }
  const highest = sumLevels(all, pieces)
  exposure.levelHours = highest.levels * leg.hours
  exposure.maxLevel = highest.max
  return exposure
}

/** Below this many cells, comparing each box is faster than an index. */
const LEAST_INDEXED = 64

function createFinder({ cells }: TimedCells): Finder {
  const { box, count } = cells
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

const US_PER_HOUR = 3.6e9

/** Time in which a cell is valid, as shares of a leg that takes time: 0 is its start, 1 its end. */
function validShares(leg: Leg, { originUs, fromUs, untilUs }: TimedCells, cell: number) {
  const startUs = Number(leg.startUs - originUs)
  const durationUs = leg.hours * US_PER_HOUR
  return { from: (fromUs[cell]! - startUs) / durationUs, to: (untilUs[cell]! - startUs) / durationUs }
}

/** Adds the covered stretches of a leg, in shares of it, as far as they are in the valid time. */
function addValid(
  covered: Covered,
  valid: { from: number; to: number },
  level: number,
  found: Stretches,
): void {
  for (let at = 0; at < covered.size; at += 2) {
    const from = Math.max(covered.ends[at]!, valid.from)
    const to = Math.min(covered.ends[at + 1]!, valid.to)
    if (from < to) addStretch(found, from, to, level)
  }
}

/** Σ level · share over the highest levels, and the highest level. @param pieces working memory */
function sumLevels(stretches: Stretches, pieces: Pieces): { levels: number; max: number } {
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

/** Appends the stretches of one theme to those of all. */
function append(all: Stretches, found: Stretches): void {
  for (let at = 0; at < found.count; at++) addStretch(all, found.from[at]!, found.to[at]!, found.level[at]!)
}
