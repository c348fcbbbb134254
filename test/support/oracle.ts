import { headOf, type Network, tailOf } from './make-graph.js'

/** A spot on a road, millimetres from the road's `from` junction. */
export interface Spot {
  segment: number
  offsetMm: number
}

/**
 * Levels of one theme: road → pieces [end mm, level] from its `from` junction on, tiling it; absent = level
 * 0.
 */
export interface Theme {
  pieces: Map<number, [endMm: number, level: number][]>
  sensitivity: number[]
}

export interface World {
  network: Network
  /** road → length */
  lengthMm: readonly number[]
  themes: readonly Theme[]
  /** roads → stretches [from mm, to mm] that must not be driven */
  closed?: Map<number, [number, number][]>
}

/** A stretch of a link as driven, offsets from the road's `from` junction, in the order of travel. */
export interface Drive {
  link: number
  fromMm: number
  toMm: number
}

interface State {
  /** the links driven so far, as far back as a restriction can look */
  history: number[]
  phase: number
  costMs: number
  /** link driven last, -1 when the route began at its end */
  driven: number
  isSettled: boolean
}

/**
 * Cheapest cost between two sets of spots, by brute force over the roads as they are: states are the last
 * links driven, and each restriction is looked up in them as it is written. Shares nothing with the graph or
 * the search.
 *
 * @returns integral milliseconds, Infinity when there is no path
 */
export function oracleCost(world: World, starts: readonly Spot[], goals: readonly Spot[]): number {
  let best = Number.POSITIVE_INFINITY
  for (const start of starts) {
    for (const goal of goals) {
      for (const link of linksOf(world.network, start.segment)) {
        if (goal.segment !== start.segment) continue
        const isAhead = link % 2 === 0 ? goal.offsetMm >= start.offsetMm : goal.offsetMm <= start.offsetMm
        if (isAhead)
          best = Math.min(best, driveCost(world, { link, fromMm: start.offsetMm, toMm: goal.offsetMm }))
      }
    }
  }
  const states = new Map<string, State>()
  const offer = (history: number[], phase: number, costMs: number, driven: number) => {
    if (!Number.isFinite(costMs)) return
    const longest = Math.max(1, ...(world.network.restrictions ?? []).map((r) => r.links.length - 1))
    const kept = history.slice(-longest)
    const key = `${kept}|${phase}|${driven}`
    const known = states.get(key)
    if (known === undefined || (!known.isSettled && costMs < known.costMs)) {
      states.set(key, { history: kept, phase, costMs, driven, isSettled: false })
    }
  }
  for (const start of starts) {
    for (const link of linksOf(world.network, start.segment)) {
      const toMm = link % 2 === 0 ? world.lengthMm[start.segment]! : 0
      const costMs = driveCost(world, { link, fromMm: start.offsetMm, toMm })
      offer([link], isPrivate(world, link) ? 0 : 1, costMs, start.offsetMm === toMm ? -1 : link)
    }
  }
  for (;;) {
    const open = [...states.values()].filter((state) => !state.isSettled)
    if (open.length === 0) return best
    const state = open.reduce((a, b) => (b.costMs < a.costMs ? b : a))
    state.isSettled = true
    for (const { link, phase } of nextLinks(world, state)) {
      const segment = link >> 1
      const beginMm = link % 2 === 0 ? 0 : world.lengthMm[segment]!
      for (const goal of goals) {
        if (goal.segment !== segment) continue
        // where nothing of the last link is driven, nobody has turned round into it
        if (goal.offsetMm !== beginMm && isBannedUTurn(world.network, state.driven, link)) continue
        const isEntered = goal.offsetMm !== beginMm
        const lastMs =
          (isEntered ? enterCost(world, state.history.at(-1)!, link) : 0) +
          driveCost(world, { link, fromMm: beginMm, toMm: goal.offsetMm })
        best = Math.min(best, state.costMs + lastMs)
      }
      if (isBannedUTurn(world.network, state.driven, link)) continue
      const endMm = link % 2 === 0 ? world.lengthMm[segment]! : 0
      const costMs =
        state.costMs +
        enterCost(world, state.history.at(-1)!, link) +
        driveCost(world, { link, fromMm: beginMm, toMm: endMm })
      offer([...state.history, link], phase, costMs, link)
    }
  }
}

/** Returns true for a turn back over the link driven last, where that is forbidden. */
function isBannedUTurn({ noUTurn = [] }: Network, driven: number, link: number): boolean {
  return driven >= 0 && (driven ^ 1) === link && noUTurn.includes(driven)
}

/** Price of the turn from one link into another: a U-turn at a dead end, 20 s + 7.5 s, and its own. */
export function enterCost({ network }: World, from: number, to: number): number {
  const own = network.turnCosts?.find((turn) => turn.from === from && turn.to === to)?.ms ?? 0
  return own + (network.afterUTurn?.includes(to) ? 27_500 : 0)
}

/**
 * Cost of one stretch: time by pieces, each (1 + Σ sensitivity) times as long, rounded once. Infinity when
 * closed.
 */
export function driveCost(world: World, { link, fromMm, toMm }: Drive): number {
  const segment = link >> 1
  const low = Math.min(fromMm, toMm)
  const high = Math.max(fromMm, toMm)
  for (const [a, b] of world.closed?.get(segment) ?? []) {
    if (a < high && b > low) return Number.POSITIVE_INFINITY
  }
  const kmPer10H = Math.round(world.network.roads[segment]!.speed[link % 2 === 0 ? 0 : 1] * 10)
  return Math.round((weigh(world, segment, low, high) * 36) / kmPer10H)
}

/** Σ mm · (1 + Σ sensitivity) of a stretch, millimetre borders taken from every theme. */
export function weigh(world: World, segment: number, lowMm: number, highMm: number): number {
  const borders = new Set([lowMm, highMm])
  for (const theme of world.themes) {
    for (const [endMm] of theme.pieces.get(segment) ?? [])
      if (endMm > lowMm && endMm < highMm) borders.add(endMm)
  }
  const sorted = [...borders].sort((a, b) => a - b)
  let total = 0
  for (let i = 1; i < sorted.length; i++) {
    const middle = (sorted[i - 1]! + sorted[i]!) / 2
    const factor = world.themes.reduce(
      (sum, theme) => sum + theme.sensitivity[levelAt(theme, segment, middle)]!,
      1,
    )
    total += (sorted[i]! - sorted[i - 1]!) * factor
  }
  return total
}

export function levelAt(theme: Theme, segment: number, mm: number): number {
  return theme.pieces.get(segment)?.find(([endMm]) => endMm > mm)?.[1] ?? 0
}

/**
 * Returns the fault of a chain of drives, null when there is none: gaps, wrong directions, restrictions,
 * private roads.
 */
export function faultOf(world: World, drives: readonly Drive[]): string | null {
  let history: number[] = []
  let phase = 0
  for (const [i, drive] of drives.entries()) {
    const segment = drive.link >> 1
    const length = world.lengthMm[segment]!
    const [begin, end] = drive.link % 2 === 0 ? [0, length] : [length, 0]
    if (i > 0 && drive.fromMm !== begin) return `drive ${i} begins inside its link`
    if (i + 1 < drives.length && drive.toMm !== end) return `drive ${i} ends inside its link`
    if (world.network.roads[segment]!.speed[drive.link % 2 === 0 ? 0 : 1] <= 0)
      return `drive ${i} goes the wrong way`
    if (drive.link % 2 === 0 ? drive.toMm < drive.fromMm : drive.toMm > drive.fromMm)
      return `drive ${i} goes back`
    if (i > 0 && headOf(world.network, drives[i - 1]!.link) !== tailOf(world.network, drive.link))
      return `gap before ${i}`
    if (i > 0 && isBannedUTurn(world.network, drives[i - 1]!.link, drive.link)) return `U-turn before ${i}`
    if (history.length > 0 && isForbidden(world.network, history, drive.link))
      return `restriction broken at ${i}`
    const next = i === 0 ? (isPrivate(world, drive.link) ? 0 : 1) : nextPhase(world, phase, drive.link)
    if (next === undefined) return `private road in the middle, at ${i}`
    phase = next
    history = [...history, drive.link]
  }
  return null
}

function nextLinks(world: World, state: State): { link: number; phase: number }[] {
  const at = headOf(world.network, state.history.at(-1)!)
  const found: { link: number; phase: number }[] = []
  for (let segment = 0; segment < world.network.roads.length; segment++) {
    for (const link of linksOf(world.network, segment)) {
      if (tailOf(world.network, link) !== at) continue
      if (isForbidden(world.network, state.history, link)) continue
      const phase = nextPhase(world, state.phase, link)
      if (phase !== undefined) found.push({ link, phase })
    }
  }
  return found
}

function isForbidden(network: Network, history: readonly number[], next: number): boolean {
  const endsWith = (run: readonly number[]) =>
    run.every((link, i) => history[history.length - run.length + i] === link)
  return (network.restrictions ?? []).some(({ kind, links }) => {
    if (kind === 'no') return next === links.at(-1) && endsWith(links.slice(0, -1))
    return links.slice(1).some((must, i) => next !== must && endsWith(links.slice(0, i + 1)))
  })
}

/** A route may use private roads at its beginning and at its end only. */
function nextPhase(world: World, phase: number, link: number): number | undefined {
  if (!isPrivate(world, link)) return phase === 2 ? undefined : 1
  return phase === 0 ? 0 : 2
}

function isPrivate(world: World, link: number): boolean {
  return world.network.roads[link >> 1]!.isPrivate === true
}

function linksOf(network: Network, segment: number): number[] {
  const [along, against] = network.roads[segment]!.speed
  return [...(along > 0 ? [segment * 2] : []), ...(against > 0 ? [segment * 2 + 1] : [])]
}
