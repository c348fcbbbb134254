// What each turn must cost, from the tags of the extract and the coordinates of the map: shares no code with the
// builder but the reader of extracts.
import { openExtract, unpackBlob } from '../../src/mapbuild/extract/blobs.js'
import { createBlockReader } from '../../src/mapbuild/extract/block.js'
import { readLine } from '../../src/routing/graph/geometry.js'
import { type Graph, LINK_FLAG } from '../../src/routing/graph/graph.js'
import { doubleAt } from '../../src/routing/graph/paged.js'

export type Kind = 'none' | 'signs' | 'main' | 'full'

/** Turns of a map whose prices were looked at. */
export interface CheckedTurns {
  readonly turns: number
  readonly priced: number
  /** priced by more than a tenth of a second otherwise, which is what rounding explains */
  readonly wrong: readonly string[]
}

type Place = readonly [x: number, y: number]

interface Tagged {
  /** node → its tags */
  readonly nodes: ReadonlyMap<number, ReadonlyMap<string, string>>
  /** two neighbouring places of a way, in its order → its class */
  readonly hops: ReadonlyMap<string, string>
  /** the same for ways that say so: traffic drives on the left */
  readonly left: ReadonlySet<string>
  /** where roads of different classes lie upon each other, which the map's own coordinates do not tell apart */
  readonly doubled: ReadonlySet<string>
}

const GATES =
  'gate lift_gate swing_gate sliding_gate hampshire_gate sally_port checkpoint border_control bollard'.split(
    ' ',
  )
const CLASSES = 'tertiary secondary primary trunk motorway'.split(' ')
const SMALL =
  'unclassified residential road tertiary_link secondary_link primary_link trunk_link motorway_link'.split(
    ' ',
  )

/** Compares the price of every arc with that of the turn into it from each arc before it. */
export function checkTurns(graph: Graph, extract: string, kind: Kind): CheckedTurns {
  const arms = armsOf(graph, readTags(extract))
  const { arcCount, head, arcLink, firstOut, linkFlags, turnPrices, arcTurn } = graph
  const wrong: string[] = []
  let [turns, priced] = [0, 0]
  for (let before = 0; before < arcCount; before++) {
    const from = arcLink[before]!
    for (let arc = firstOut[head[before]!]!; arc < firstOut[head[before]! + 1]!; arc++) {
      const to = arcLink[arc]!
      if (to === (from ^ 1) && (linkFlags[from]! & LINK_FLAG.NO_U_TURN) !== 0) continue
      if (arms.at.get(arms.of[to]!.junction)!.some((arm) => arms.of[arm]!.isDoubled)) continue
      const foundMs = turnPrices === undefined ? 0 : turnPrices[arcTurn![arc]!]!
      const expectedMs = kind === 'none' ? 0 : priceOf(graph, arms, kind, from, to)
      // a turn of 45° is both: plane and sphere may differ
      const nearbyMs = () => priceOf(graph, arms, kind, from, to, 45.2)
      turns++
      if (foundMs > 0) priced++
      if (Math.abs(foundMs - expectedMs) > 100 && Math.abs(foundMs - nearbyMs()) > 100)
        wrong.push(`link ${from} into ${to}: found ${foundMs} ms, expected ${Math.round(expectedMs)}`)
    }
  }
  return { turns, priced, wrong }
}

/** Reads the tags of nodes and ways that matter, with a second reading for coordinates. */
function readTags(file: string): Tagged {
  const nodes = new Map<number, Map<string, string>>()
  const places = new Map<number, string>()
  const ways: { kind: string; isLeft: boolean; refs: number[] }[] = []
  const read = createBlockReader({
    nodeKeys: ['highway', 'barrier'],
    wayKeys: ['highway', 'route'],
    node(id, lng, lat, tags) {
      places.set(id, `${lng} ${lat}`)
      if (tags !== undefined) nodes.set(id, new Map(tags))
    },
    way(_id, tags, refs, count) {
      const isLeft = tags.get('driving_side') === 'left'
      ways.push({ kind: tags.get('highway') ?? '', isLeft, refs: [...refs.subarray(0, count)] })
    },
  })
  const source = openExtract(file)
  for (const blob of source.blobsFrom(0)) if (blob.type === 'OSMData') read(unpackBlob(blob), blob.offset)
  source.close()
  const hops = new Map<string, string>()
  const left = new Set<string>()
  const doubled = new Set<string>()
  for (const { kind, isLeft, refs } of ways) {
    for (let i = 1; i < refs.length; i++) {
      const key = `${places.get(refs[i - 1]!)} ${places.get(refs[i]!)}`
      const back = `${places.get(refs[i]!)} ${places.get(refs[i - 1]!)}`
      for (const known of [hops.get(key), hops.get(back)])
        if (known !== undefined && rankOf(known) !== rankOf(kind)) doubled.add(key).add(back)
      hops.set(key, kind)
      if (isLeft) left.add(key)
    }
  }
  return { nodes, hops, left, doubled }
}

function rankOf(kind: string): number {
  const at = CLASSES.indexOf(kind)
  if (at >= 0) return at + 3
  return SMALL.includes(kind) ? 2 : 1
}

/** A link as seen from the junction that it leaves. */
interface Arm {
  readonly junction: number
  /** degrees clockwise from north; undefined = no length */
  readonly bearing: number | undefined
  readonly rank: number
  /** the traffic that arrives over this road drives along its way */
  readonly arrivesAlong: boolean
  readonly isLeft: boolean
  readonly isDoubled: boolean
}

interface Arms {
  /** link → itself, as it leaves */
  readonly of: readonly Arm[]
  /** junction → links that leave it, closed ones too */
  readonly at: ReadonlyMap<number, number[]>
  readonly tags: Tagged['nodes']
}

function armsOf(graph: Graph, { nodes, hops, left, doubled }: Tagged): Arms {
  const of: Arm[] = []
  const at = new Map<number, number[]>()
  const line: number[] = []
  for (let segment = 0; segment < graph.segmentCount; segment++) {
    readLine(graph, segment, line)
    const forward: Place[] = []
    for (let i = 0; i < line.length; i += 2) forward.push([line[i]!, line[i + 1]!])
    for (const [side, places] of [forward, [...forward].reverse()].entries()) {
      const junction = side === 0 ? graph.segmentTail[segment]! : graph.segmentHead[segment]!
      const [a, b] = places as [Place, Place]
      const out = hops.get(`${a[0]} ${a[1]} ${b[0]} ${b[1]}`)
      const key = `${b[0]} ${b[1]} ${a[0]} ${a[1]}`
      const back = hops.get(key)
      const isLeft = left.has(key) || left.has(`${a[0]} ${a[1]} ${b[0]} ${b[1]}`)
      of.push({
        junction,
        bearing: bearingOf(places),
        rank: rankOf(out ?? back ?? ''),
        arrivesAlong: out === undefined,
        isLeft,
        isDoubled: doubled.has(key),
      })
      at.set(junction, [...(at.get(junction) ?? []), segment * 2 + side])
    }
  }
  return { of, at, tags: nodes }
}

const RADIUS_M = 6_371_000
const radians = (e7: number) => (e7 * Math.PI) / 180e7

/** Initial bearing of the great circle to the place 10 m along the line, or to its end. */
function bearingOf(places: readonly Place[]): number | undefined {
  const [from] = places as [Place, ...Place[]]
  let leftM = 10
  let to = from
  for (const next of places.slice(1)) {
    const hopM = sphereM(to, next)
    const share = hopM > leftM ? leftM / hopM : 1
    to = [to[0] + (next[0] - to[0]) * share, to[1] + (next[1] - to[1]) * share]
    leftM -= hopM
    if (leftM <= 0) break
  }
  if (to[0] === from[0] && to[1] === from[1]) return undefined
  const [lat1, lat2] = [radians(from[1]), radians(to[1])]
  const dLng = radians(to[0] - from[0])
  const y = Math.sin(dLng) * Math.cos(lat2)
  const x = Math.cos(lat1) * Math.sin(lat2) - Math.sin(lat1) * Math.cos(lat2) * Math.cos(dLng)
  return (Math.atan2(y, x) * 180) / Math.PI
}

/** Haversine. */
function sphereM(a: Place, b: Place): number {
  const dLat = radians(b[1] - a[1])
  const dLng = radians(b[0] - a[0])
  const h =
    Math.sin(dLat / 2) ** 2 + Math.cos(radians(a[1])) * Math.cos(radians(b[1])) * Math.sin(dLng / 2) ** 2
  return 2 * RADIUS_M * Math.asin(Math.sqrt(h))
}

/** Price of a turn where traffic drives on the right, unless tags say otherwise. */
function priceOf(graph: Graph, arms: Arms, kind: Kind, from: number, to: number, straight = 44.8): number {
  const { junction } = arms.of[to]!
  const around = arms.at.get(junction)!
  if (graph.segmentLengthMm[to >> 1] === 0) return 0
  const isMain = around.some((arm) => Math.max(graph.linkSpeed[arm]!, graph.linkSpeed[arm ^ 1]!) >= 450)
  const isAngled = around.length > 2 && (kind === 'full' || (kind === 'main' && isMain))
  if (to === (from ^ 1)) return isAngled ? 27_500 : 0
  const signs = signsOf(graph, arms, junction, from)
  const ringed = [from, to].every((link) => (graph.linkFlags[link]! & LINK_FLAG.ROUNDABOUT) !== 0)
  const turn = turnOf(arms, from, to)
  if (!isAngled || ringed || turn === undefined) return signs.ms
  // OSRM's two sigmoids; b = 1.075
  const b = 1.075
  const away = arms.of[from ^ 1]!.isLeft ? -turn : turn
  const power = away >= 0 ? (13 / b) * (away / 180) - 6.5 * b : 13 * b * (-away / 180) - 6.5 / b
  const larger = !signs.isSignalled && isAcrossLarger(arms, around, from, to, straight) ? 3000 : 0
  return signs.ms + 7500 / (1 + Math.exp(-power)) + larger
}

/** Degrees to the right, −180 to 180. */
function turnOf({ of }: Arms, from: number, to: number): number | undefined {
  const [back, onward] = [of[from ^ 1]!.bearing, of[to]!.bearing]
  if (back === undefined || onward === undefined) return undefined
  let turn = onward - back - 180
  while (turn < -180) turn += 360
  while (turn >= 180) turn -= 360
  return turn
}

function isAcrossLarger(
  arms: Arms,
  around: readonly number[],
  from: number,
  to: number,
  straight: number,
): boolean {
  const rank = (link: number) => arms.of[link]!.rank
  const turn = turnOf(arms, from, to)!
  const away = arms.of[from ^ 1]!.isLeft ? -turn : turn
  if (away < -straight && rank(to) > rank(from ^ 1)) return true
  const larger = around.filter(
    (arm) => arm !== to && arm !== (from ^ 1) && rank(arm) > Math.max(rank(from ^ 1), rank(to)),
  )
  const sides = new Set(larger.map((arm) => (turnOf(arms, from, arm) ?? -180) > turn))
  return sides.size === 2
}

/** Causes of delay for traffic that arrives at a junction by a link. */
function signsOf(
  graph: Graph,
  arms: Arms,
  junction: number,
  from: number,
): { ms: number; isSignalled: boolean } {
  const tags = arms.tags.get(doubleAt(graph.junctionOsmId, junction))
  if (tags === undefined) return { ms: 0, isSignalled: false }
  const barrier = tags.get('barrier') ?? ''
  let ms = barrier === 'toll_booth' ? 15_000 : GATES.includes(barrier) ? 60_000 : 0
  const kinds = (tags.get('highway') ?? '').split(';')
  const around = arms.at.get(junction)!
  const { arrivesAlong, rank } = arms.of[from ^ 1]!
  const holds = (direction: string | undefined, undirected: () => boolean) =>
    direction === 'forward' ? arrivesAlong : direction === 'backward' ? !arrivesAlong : undirected()
  const isNearer = () => {
    const other = around.find((arm) => arm !== (from ^ 1))
    if (other === undefined || graph.linkSpeed[other ^ 1] === 0) return true
    return graph.segmentLengthMm[other >> 1]! <= graph.segmentLengthMm[from >> 1]!
  }
  const ranks = around.map((arm) => arms.of[arm]!.rank)
  const isSmaller = () => rank < Math.max(...ranks) || ranks.every((one) => one === ranks[0])
  const direction = tags.get('direction')
  const isCrossing = around.length > 2
  const isSignalled =
    kinds.includes('traffic_signals') && holds(tags.get('traffic_signals:direction') ?? direction, () => true)
  if (isSignalled) ms += 2000
  else if (kinds.includes('traffic_signals')) return { ms, isSignalled }
  else if (kinds.includes('stop')) {
    const undirected = () => (!isCrossing ? isNearer() : tags.get('stop') !== 'minor' || isSmaller())
    if (holds(direction, undirected)) ms += 2000
  } else if (kinds.includes('give_way')) {
    if (holds(direction, () => (isCrossing ? isSmaller() : isNearer()))) ms += 1000
  }
  return { ms, isSignalled }
}
