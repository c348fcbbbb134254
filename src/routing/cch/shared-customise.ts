import { sharedBuffer, sharedCopy } from '../graph/shared-memory.js'
import type { Weights } from '../search/dijkstra.js'
import { type Customisation, kernelsOf, startCustomisation } from './customise.js'
import type { Contraction, Hierarchy } from './hierarchy.js'
import type { FullRun, Kind, Metric } from './metric.js'
import { cutRanks, type Pieces } from './pieces.js'

/** A full customisation that threads share. All of its arrays are shared memory: it is sent without copies. */
export interface SharedRun {
  readonly h: Contraction
  readonly weights: Weights
  readonly metric: Metric
  readonly cursor: Uint32Array
  readonly seenBy: Int32Array
  readonly ranges: Int32Array
  /** [`NEXT`], [`DONE`] */
  readonly control: Int32Array
}

/** Other threads. */
export interface Helpers {
  /** fewest triangles for which threads are worth their start */
  readonly minTriangles: number
  /** time without a completed piece after which they are given up, ms */
  readonly silenceMs: number
  /** Returns whether any thread can take work now. */
  isFree(): boolean
  /**
   * Has the threads that are free take pieces of a run, until none is left. Returns at once.
   *
   * @param onLost called when a thread that has begun with it ends
   */
  offer(run: SharedRun, onLost: () => void): void
}

/** Entry of `control`: the next piece that no thread has taken. */
const NEXT = 0
/** Entry of `control`: pieces that are complete. */
const DONE = 1

const cuts = new WeakMap<Contraction, Pieces>()

/**
 * Starts a full customisation that other threads help with, in pieces that each takes when it has ended its last.
 * The metric equals that of `startCustomisation`, bit for bit: each rank is processed the same way, after the same
 * ranks. Where a thread is lost, this one begins anew alone.
 *
 * @returns undefined for a hierarchy that is not worth it, or where no thread is free
 */
export function startShared(
  hierarchy: Hierarchy,
  weights: Weights,
  kind: Kind,
  helpers: Helpers,
): Customisation | undefined {
  const pieces = cuts.get(hierarchy) ?? cutRanks(hierarchy)
  cuts.set(hierarchy, pieces)
  if (pieces.triangles < helpers.minTriangles || !helpers.isFree()) return undefined
  const run = createRun(hierarchy, weights, kind, pieces)
  let alone: Customisation | undefined
  let isDone = false
  const beginAlone = () => {
    if (!isDone) alone ??= startCustomisation(hierarchy, weights, kind)
  }
  const advance = (maxWork: number): boolean => {
    if (alone === undefined && own.advance(maxWork)) return true
    // `finish` cannot return before the metric is complete, so it waits for the threads here
    while (alone === undefined && maxWork === Number.POSITIVE_INFINITY)
      if (!own.waitForOthers()) beginAlone()
      else if (own.advance(maxWork)) return true
    if (alone === undefined && own.isSilent()) beginAlone()
    return alone?.advance(maxWork) ?? false
  }
  helpers.offer(run, beginAlone)
  const own = createOwnPart(run, pieces.top, helpers.silenceMs)
  return {
    get metric() {
      return alone?.metric ?? run.metric
    },
    advance(maxWork) {
      isDone ||= advance(maxWork)
      return isDone
    },
  }
}

/** Takes pieces of a run and customises them, until none is left: the part of a helping thread. */
export function customisePieces(run: SharedRun): void {
  const range = rangeOf(run)
  while (nextPiece(run, range)) advanceRange(run, range, Number.POSITIVE_INFINITY)
}

function createRun(
  { rank: _, ...h }: Hierarchy,
  weights: Weights,
  kind: Kind,
  { ranges }: Pieces,
): SharedRun {
  const { createShared } = kernelsOf(kind)
  return {
    h,
    weights: sharedCopy(weights),
    metric: { kind, up: createShared(h.arcCount), down: createShared(h.arcCount) },
    cursor: sharedCopy(h.first),
    seenBy: new Int32Array(sharedBuffer(h.nodeCount * 4)).fill(-1),
    ranges,
    control: new Int32Array(new SharedArrayBuffer(8)),
  }
}

/** Range of ranks that a thread works on. */
function rangeOf({ h, cursor, seenBy }: SharedRun): FullRun {
  return { nextRank: 0, endRank: 0, arcAt: new Int32Array(h.depthCount), cursor, seenBy }
}

/** Takes the next piece. @returns false when none is left */
function nextPiece({ ranges, control }: SharedRun, range: FullRun): boolean {
  const piece = Atomics.add(control, NEXT, 1)
  if (piece * 2 >= ranges.length) return false
  range.nextRank = ranges[piece * 2]!
  range.endRank = ranges[piece * 2 + 1]!
  return true
}

/** Advances a piece. Its end is told to the other threads. @returns work that was done */
function advanceRange(run: SharedRun, range: FullRun, maxWork: number): number {
  const { h, weights, metric, control } = run
  const work = kernelsOf(metric.kind).customiseSome(h, weights, metric, range, maxWork)
  if (range.nextRank === range.endRank) {
    Atomics.add(control, DONE, 1)
    Atomics.notify(control, DONE)
  }
  return work
}

/** Part of the thread that began a run: pieces like every other, then the ranks above them. */
function createOwnPart(run: SharedRun, top: Int32Array, silenceMs: number) {
  const { h, weights, metric, ranges, control } = run
  const range = rangeOf(run)
  const pieceCount = ranges.length / 2
  let isTop = false
  let topAt = 0
  let seenDone = 0
  let seenAtMs = performance.now()
  const areDone = () => Atomics.load(control, DONE) === pieceCount
  const advancePieces = (maxWork: number): number => {
    let left = maxWork
    while (left > 0 && !isTop) {
      if (range.nextRank < range.endRank) left -= advanceRange(run, range, left)
      else isTop = !nextPiece(run, range)
    }
    return left
  }
  return {
    /** @returns true when the metric is complete */
    advance(maxWork: number): boolean {
      let left = advancePieces(maxWork)
      if (!isTop || !areDone()) return false
      while (topAt < top.length && left > 0) {
        if (range.endRank !== top[topAt + 1]) {
          range.nextRank = top[topAt]!
          range.endRank = top[topAt + 1]!
        }
        left -= kernelsOf(metric.kind).customiseSome(h, weights, metric, range, left)
        if (range.nextRank === range.endRank) topAt += 2
      }
      return topAt === top.length
    },
    /** Waits until another thread has completed a piece. @returns false when none does */
    waitForOthers(): boolean {
      const done = Atomics.load(control, DONE)
      return done === pieceCount || Atomics.wait(control, DONE, done, silenceMs) !== 'timed-out'
    },
    /** Returns whether this thread has nothing left but to wait, and waits for too long. */
    isSilent(): boolean {
      const done = Atomics.load(control, DONE)
      const nowMs = performance.now()
      if (!isTop || done !== seenDone || done === pieceCount) {
        seenDone = done
        seenAtMs = nowMs
      }
      return nowMs - seenAtMs > silenceMs
    },
  }
}
