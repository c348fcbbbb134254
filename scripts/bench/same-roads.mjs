// How much two routes have in common, told by their lines alone: both are drawn through the nodes of OpenStreetMap.

/** Half of a narrow road, metres. */
const NEAR_M = 3
/** Greatest difference of the directions in which a road is driven, as a cosine: 30°. */
const COS_TURN = Math.cos(Math.PI / 6)
const PIECE_M = 10
const CELL_M = 50
const DEGREE_M = 111_320

/**
 * Returns the part of two lines that runs on the same roads in the same direction, from 0 to 1, by the lengths
 * of both; and the stretches that only one of them has.
 *
 * @param a positions [lng, lat]
 * @returns { share, onlyA, onlyB }: arrays of lines
 */
export function compareLines(a, b) {
  const metres = inMetres(a[0])
  const [planeA, planeB] = [a.map(metres), b.map(metres)]
  const [inA, inB] = [matched(planeA, planeB), matched(planeB, planeA)]
  const lengthM = inA.lengthM + inB.lengthM
  return {
    share: lengthM === 0 ? 1 : (inA.sharedM + inB.sharedM) / lengthM,
    onlyA: stretches(a, inA.pieces),
    onlyB: stretches(b, inB.pieces),
  }
}

/** Returns the length of a line, metres. */
export function lengthOf(line) {
  const metres = inMetres(line[0])
  let sum = 0
  for (const [[x, y], [toX, toY]] of pairs(line.map(metres))) sum += Math.hypot(toX - x, toY - y)
  return sum
}

function inMetres([, lat]) {
  const scale = Math.cos((lat * Math.PI) / 180)
  return ([lng, y]) => [lng * DEGREE_M * scale, y * DEGREE_M]
}

/** Looks at the middle of each piece of a line: is the other line there, too, and driven in this direction? */
function matched(line, other) {
  const isNear = nearness(other)
  const result = { lengthM: 0, sharedM: 0, pieces: [] }
  for (const [i, [[x, y], [toX, toY]]] of pairs(line).entries()) {
    const wholeM = Math.hypot(toX - x, toY - y)
    if (wholeM === 0) continue
    const direction = [(toX - x) / wholeM, (toY - y) / wholeM]
    const count = Math.ceil(wholeM / PIECE_M)
    for (let piece = 0; piece < count; piece++) {
      const part = (piece + 0.5) / count
      const isShared = isNear([x + (toX - x) * part, y + (toY - y) * part], direction)
      result.lengthM += wholeM / count
      if (isShared) result.sharedM += wholeM / count
      result.pieces.push({ segment: i, isShared, lengthM: wholeM / count })
    }
  }
  return result
}

/** Segments of a line in a grid of squares. @returns (point, direction) → whether one of them is there */
function nearness(line) {
  const cells = new Map()
  for (const [from, to] of pairs(line)) {
    const lengthM = Math.hypot(to[0] - from[0], to[1] - from[1])
    if (lengthM === 0) continue
    const segment = { from, to, lengthM, direction: [0, 1].map((axis) => (to[axis] - from[axis]) / lengthM) }
    for (const key of cellsAlong(segment)) cells.set(key, [...(cells.get(key) ?? []), segment])
  }
  return (point, direction) =>
    (cells.get(keyOf(point)) ?? []).some((segment) => {
      const cos = segment.direction[0] * direction[0] + segment.direction[1] * direction[1]
      return cos >= COS_TURN && distance(point, segment) <= NEAR_M
    })
}

function cellsAlong({ from, to, lengthM }) {
  const keys = new Set()
  const count = Math.ceil(lengthM / 5)
  for (let i = 0; i <= count; i++) {
    const [x, y] = [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * i) / count)
    for (const dx of [-NEAR_M, NEAR_M]) for (const dy of [-NEAR_M, NEAR_M]) keys.add(keyOf([x + dx, y + dy]))
  }
  return keys
}

function keyOf([x, y]) {
  return `${Math.floor(x / CELL_M)},${Math.floor(y / CELL_M)}`
}

function distance([x, y], { from, lengthM, direction }) {
  const along = (x - from[0]) * direction[0] + (y - from[1]) * direction[1]
  const t = Math.min(lengthM, Math.max(0, along))
  return Math.hypot(x - from[0] - direction[0] * t, y - from[1] - direction[1] * t)
}

/** Joins neighbouring segments that are not shared into lines; what is shorter than a piece is no road. */
function stretches(line, pieces) {
  const found = []
  let wasShared = true
  for (const { segment, isShared, lengthM } of pieces) {
    if (!isShared && wasShared) found.push({ first: segment, last: segment, lengthM: 0 })
    if (!isShared) {
      found.at(-1).last = segment
      found.at(-1).lengthM += lengthM
    }
    wasShared = isShared
  }
  return found
    .filter(({ lengthM }) => lengthM > PIECE_M)
    .map(({ first, last }) => line.slice(first, last + 2))
}

function pairs(points) {
  return points.slice(1).map((point, i) => [points[i], point])
}
