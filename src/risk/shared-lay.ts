import { type RoadLines, type SentLines, sendLines } from '../routing/graph/road-lines.js'
import { segmentIndex } from '../routing/graph/segment-index.js'
import { sharedCopy } from '../routing/graph/shared-memory.js'
import type { Overlay } from '../routing/search/overlay.js'
import { runToEnd, type SlicedTask } from '../routing/search/sliced-task.js'
import { buildOverlaySliced, findPiecesSliced, type Share } from './build-overlay.js'
import type { CellSet } from './cell-set.js'
import { assemble, type Found, joinFound } from './found-pieces.js'

/** Cells that threads lay on the roads of a map together, as one of them is told of it. */
export interface LayRun {
  readonly lines: SentLines
  /** arrays in shared memory, but for areas of many corners */
  readonly cells: CellSet
  /** level of the tree of roads whose branches are taken */
  readonly level: number
  /** branch of that level → number of the thread that has taken it, 0 = none yet */
  readonly takenBy: Int32Array
  /** number of the thread that is told; `OWN` is the one that began */
  readonly thread: number
  /** thread → 1 when it has ended its part; entry 0: 1 when nobody waits for the result any more */
  readonly isEnded: Int32Array
}

/** Other threads. */
export interface LayHelpers {
  /** fewest cells for which threads are worth their start */
  readonly minCells: number
  /** threads beside the one that asks */
  readonly threads: number
  /** time after which a thread that has taken a branch and does not answer is given up, ms */
  readonly silenceMs: number
  /** Returns whether any thread can take work now. */
  isFree(): boolean
  /**
   * Has each thread that is free lay branches until all are taken. Returns at once.
   *
   * @param runFor called for each of them, with its place among them
   * @param onAnswer called with what a thread has found; undefined = it has found nothing, or was lost
   */
  offer(runFor: (place: number) => LayRun, onAnswer: (place: number, found: Found | undefined) => void): void
}

/** Number of the thread that began a run; those of the others follow. */
const OWN = 1
/** Entry of `isEnded` for the whole run. */
const IS_OVER = 0
/** Fewest branches of the level that threads share: with fewer, the last of them may end much later than the first. */
const LEAST_BRANCHES = 64
/** Longest wait before the event loop turns, ms. */
const WAIT_MS = 5

/**
 * Builds the same as `buildOverlay`, with other threads where the cells are many and the map is large. Each takes
 * branches of the tree of roads, until all are taken. The pieces of a road depend on the cells alone, so it does not
 * matter which thread finds them. What a thread had taken that was lost is laid by this one.
 */
export function* layTogether(
  graph: RoadLines,
  cells: CellSet,
  throwIfEnded?: () => void,
  helpers?: LayHelpers,
): SlicedTask<Overlay> {
  const run = helpers && createRun(graph, cells, helpers)
  if (helpers === undefined || run === undefined) return yield* buildOverlaySliced(graph, cells, throwIfEnded)
  const answers = new Map<number, Found | undefined>()
  try {
    helpers.offer(
      (place) => ({ ...run, thread: OWN + 1 + place }),
      (place, found) => answers.set(OWN + 1 + place, found),
    )
    const parts = [yield* findPiecesSliced(graph, cells, throwIfEnded, shareOf(run))]
    // all branches are taken: who has none by now will have none
    const others = [...new Set(run.takenBy)].filter((thread) => thread !== OWN)
    yield* waitFor(others, answers, run, helpers.silenceMs)
    for (const thread of others) {
      const found = answers.get(thread)
      const take = (branch: number) => run.takenBy[branch] === thread
      parts.push(found ?? (yield* findPiecesSliced(graph, cells, throwIfEnded, { ...shareOf(run), take })))
    }
    return assemble(joinFound(parts))
  } finally {
    Atomics.store(run.isEnded, IS_OVER, 1)
  }
}

/**
 * Lays branches of a run, until all are taken: the part of a helping thread.
 *
 * @param open opens the roads; not called when the run is over before this thread begins
 * @returns undefined when nobody waits for it
 * @throws the errors of the map's file
 */
export function layBranches(run: LayRun, open: (lines: SentLines) => RoadLines): Found | undefined {
  const { takenBy, isEnded, thread } = run
  const isOver = () => Atomics.load(isEnded, IS_OVER) === 1
  if (isOver() || !takenBy.includes(0)) return undefined
  const throwIfOver = () => {
    if (isOver()) throw new Error('nobody waits for this overlay any more')
  }
  try {
    return runToEnd(findPiecesSliced(open(run.lines), run.cells, throwIfOver, shareOf(run)))
  } catch (error) {
    if (isOver()) return undefined
    throw error
  } finally {
    Atomics.store(isEnded, thread, 1)
    Atomics.notify(isEnded, thread)
  }
}

/** @returns undefined for few cells, for areas that are large to send, for a small map, or where no thread is free */
function createRun(graph: RoadLines, cells: CellSet, helpers: LayHelpers): LayRun | undefined {
  if (cells.count < helpers.minCells || !areShapesSmall(cells) || !helpers.isFree()) return undefined
  const { levelEnds } = segmentIndex(graph)
  const branchesOf = (level: number) => levelEnds[level]! - levelEnds[level - 1]!
  let level = levelEnds.length - 1
  while (level > 1 && branchesOf(level) < LEAST_BRANCHES) level--
  if (branchesOf(level) < LEAST_BRANCHES) return undefined
  return {
    lines: sendLines(graph),
    cells: withSharedArrays(cells),
    level,
    takenBy: sharedCopy(new Int32Array(branchesOf(level))),
    thread: OWN,
    isEnded: sharedCopy(new Int32Array(OWN + 1 + helpers.threads)),
  }
}

function shareOf({ level, takenBy, thread, isEnded }: LayRun): Share {
  return {
    level,
    take: (branch) =>
      Atomics.load(isEnded, IS_OVER) === 0 && Atomics.compareExchange(takenBy, branch, 0, thread) === 0,
    isReversed: thread !== OWN,
  }
}

/** Areas of many corners that are sent at most, and their corners: they are copied, and objects in the thread's heap. */
const MOST_SHAPES = 1000
const MOST_CORNERS = 2 ** 18

function areShapesSmall({ shapes }: CellSet): boolean {
  if (shapes.size > MOST_SHAPES) return false
  let corners = 0
  for (const { xy } of shapes.values()) corners += xy.length / 2
  return corners <= MOST_CORNERS
}

/** Waits until some threads have answered, or have been silent for too long. */
function* waitFor(
  threads: readonly number[],
  answers: ReadonlyMap<number, unknown>,
  { isEnded }: LayRun,
  silenceMs: number,
): SlicedTask<void> {
  const endMs = performance.now() + silenceMs
  for (;;) {
    const thread = threads.find((one) => !answers.has(one))
    if (thread === undefined || performance.now() > endMs) return
    Atomics.wait(isEnded, thread, 0, WAIT_MS)
    // its answer is a message
    yield 'turn'
  }
}

/** Returns the same cells with what is in use of their arrays in shared memory. */
function withSharedArrays(cells: CellSet): CellSet {
  const { count, box, level, form, firstPosition, xy, positionCount } = cells
  return {
    ...cells,
    box: sharedCopy(box.subarray(0, count * 4)),
    level: sharedCopy(level.subarray(0, count)),
    form: sharedCopy(form.subarray(0, count)),
    firstPosition: sharedCopy(firstPosition.subarray(0, count)),
    xy: sharedCopy(xy.subarray(0, positionCount * 2)),
  }
}
