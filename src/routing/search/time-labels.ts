import type FlatQueue from 'flatqueue'

/**
 * Labels of a time-dependent search: one for each pair of place and slot that was reached. A place is a node,
 * or a link by which a node is reached. It is reached in few slots, so its labels are a short linked list;
 * arrays double when they are full. 38 bytes a label, 4 a place.
 */
export interface Labels {
  count: number
  /** place → its first label, -1 = none */
  readonly firstOf: Int32Array
  /** label → the next one of the same place, -1 = none */
  next: Int32Array
  place: Int32Array
  slot: Uint8Array
  isSettled: Uint8Array
  costMs: Float64Array
  /** driving time since the departure of the route, milliseconds */
  clockMs: Float64Array
  /** last arc of the path; `~position` among the sources where the leg starts */
  arc: Int32Array
  /** label at the tail of that arc, -1 at a source */
  parent: Int32Array
}

const FIRST_LABELS = 4096

/** Creates the labels of one search, without any label. */
export function createLabels(placeCount: number): Labels {
  return {
    count: 0,
    firstOf: new Int32Array(placeCount).fill(-1),
    next: new Int32Array(FIRST_LABELS),
    place: new Int32Array(FIRST_LABELS),
    slot: new Uint8Array(FIRST_LABELS),
    isSettled: new Uint8Array(FIRST_LABELS),
    costMs: new Float64Array(FIRST_LABELS),
    clockMs: new Float64Array(FIRST_LABELS),
    arc: new Int32Array(FIRST_LABELS),
    parent: new Int32Array(FIRST_LABELS),
  }
}

/**
 * Relaxes a path into the label of its place and slot: it replaces the path known there when it is cheaper, or
 * as cheap and earlier, or equal in both and by a smaller arc. Positional parameters: it runs once for each
 * arc relaxed.
 *
 * @param restMs bound of the rest of the path: label costs plus this order the queue
 * @param arc last arc of the path, `parent` the label at its tail; see `Labels`
 */
export function offer(
  labels: Labels,
  queue: FlatQueue<number>,
  place: number,
  slot: number,
  costMs: number,
  restMs: number,
  clockMs: number,
  arc: number,
  parent: number,
): void {
  // a place has few labels, so its list is searched from the front
  let label = labels.firstOf[place]!
  while (label >= 0 && labels.slot[label] !== slot) label = labels.next[label]!
  if (label < 0) {
    label = addLabel(labels, place, slot)
    queue.push(label, costMs + restMs)
  } else {
    const knownMs = labels.costMs[label]!
    if (labels.isSettled[label] === 1 || costMs > knownMs) return
    // the former entry stays in the queue and is skipped when it leaves it as settled
    if (costMs < knownMs) queue.push(label, costMs + restMs)
    // at equal cost the queue needs no second entry: only the clock, the arc and the parent change
    else if (clockMs > labels.clockMs[label]!) return
    else if (clockMs === labels.clockMs[label] && arc >= labels.arc[label]!) return
  }
  labels.costMs[label] = costMs
  labels.clockMs[label] = clockMs
  labels.arc[label] = arc
  labels.parent[label] = parent
}

function addLabel(labels: Labels, place: number, slot: number): number {
  const label = labels.count++
  if (label === labels.place.length) {
    // doubling keeps the cost of growth at O(1) a label
    const size = label * 2
    labels.next = grown(labels.next, new Int32Array(size))
    labels.place = grown(labels.place, new Int32Array(size))
    labels.slot = grown(labels.slot, new Uint8Array(size))
    labels.isSettled = grown(labels.isSettled, new Uint8Array(size))
    labels.costMs = grown(labels.costMs, new Float64Array(size))
    labels.clockMs = grown(labels.clockMs, new Float64Array(size))
    labels.arc = grown(labels.arc, new Int32Array(size))
    labels.parent = grown(labels.parent, new Int32Array(size))
  }
  labels.place[label] = place
  labels.slot[label] = slot
  // new labels go to the front of the place's list
  labels.next[label] = labels.firstOf[place]!
  labels.firstOf[place] = label
  return label
}

function grown<A extends Int32Array | Uint8Array | Float64Array>(from: A, to: A): A {
  to.set(from)
  return to
}
