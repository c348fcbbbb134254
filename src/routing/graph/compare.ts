import { bannedTurns, countOtherPrices } from './compare-turns.js'
import { conditionWords } from './condition-words.js'
import { readLine } from './geometry.js'
import { type Graph, LINK_FLAG } from './graph.js'
import { type Hop, hopsOf, turned } from './link-hops.js'
import { numberAt } from './paged.js'
import { readString } from './strings.js'
import { isBackward } from './topology.js'

/** Kind of a difference between two maps. */
export type DifferenceKind = 'only here' | 'only there' | 'speed' | 'access' | 'name' | 'conditions' | 'notes'

/** Roads that differ in one way. */
export interface Difference {
  readonly kind: DifferenceKind
  /** length of the directions of travel that differ: a two-way road counts twice */
  readonly lengthM: number
  /** the longest of them, longest first */
  readonly examples: readonly { name: string; lng: number; lat: number; lengthM: number }[]
}

/** Two builds compared: the first map is `here`, the second `there`. */
export interface MapComparison {
  /** length of the directions of travel that are equal in both */
  readonly sameM: number
  readonly differences: readonly Difference[]
  /** turns over one junction, other than U-turns, that only one of the maps bans */
  readonly turnsOnlyHere: number
  readonly turnsOnlyThere: number
  /** turns over one junction, allowed in both, that have another price */
  readonly turnsWithOtherPrice: number
}

const KINDS: readonly DifferenceKind[] = [
  ...(['only here', 'only there', 'speed', 'access', 'name', 'conditions', 'notes'] as const),
]
const MAX_EXAMPLES = 5
const ACCESS_FLAGS = LINK_FLAG.PRIVATE | LINK_FLAG.FERRY

/**
 * Compares the roads of two maps by the places of their corners, so that it does not matter where segments
 * are cut or how they are numbered.
 *
 * Cost: linear; some 50 bytes a link, and 300 a corner of a road that differs.
 */
export function compareMaps(here: Graph, there: Graph): MapComparison {
  const { sameM, left, right } = withoutEqual(here, there)
  const differing = new Map<string, number>() // kind, map and link → metres
  const add = (kind: DifferenceKind, side: Side, link: number, lengthM: number) => {
    const key = `${KINDS.indexOf(kind)} ${side} ${link}`
    differing.set(key, (differing.get(key) ?? 0) + lengthM)
  }
  const hopsThere = new Map<string, Hop[]>() // several where roads lie upon each other
  for (const hop of right.flatMap((link) => hopsOf(there, link))) {
    const known = hopsThere.get(hop.place)
    if (known === undefined) hopsThere.set(hop.place, [hop])
    else known.push(hop)
  }
  let alsoSameM = 0
  for (const link of left) {
    for (const hop of hopsOf(here, link)) {
      const other = hopsThere.get(hop.place)?.pop()
      const kind = other === undefined ? 'only here' : differenceOf(here, link, there, other.link)
      if (kind === undefined) alsoSameM += hop.lengthM
      else add(kind, 'here', link, hop.lengthM)
    }
  }
  for (const hops of hopsThere.values())
    for (const { link, lengthM } of hops) add('only there', 'there', link, lengthM)
  const bannedHere = bannedTurns(here)
  const bannedThere = bannedTurns(there)
  return {
    sameM: sameM + alsoSameM,
    differences: summarise(differing, { here, there }),
    turnsOnlyHere: [...bannedHere].filter((turn) => !bannedThere.has(turn)).length,
    turnsOnlyThere: [...bannedThere].filter((turn) => !bannedHere.has(turn)).length,
    turnsWithOtherPrice: countOtherPrices(here, there),
  }
}

type Side = 'here' | 'there'

/** Pairs the links of both maps that are equal as a whole, and lists the others. */
function withoutEqual(here: Graph, there: Graph): { sameM: number; left: number[]; right: number[] } {
  const counts = new Map<number, number>()
  const openHere = openLinks(here)
  for (const { hash } of openHere) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  const right: number[] = []
  for (const { link, hash } of openLinks(there)) {
    const count = counts.get(hash) ?? 0
    if (count > 0) counts.set(hash, count - 1)
    else right.push(link)
  }
  // what is counted still has no partner
  const left: number[] = []
  let sameM = 0
  for (const { link, hash } of openHere) {
    const count = counts.get(hash)! // each was counted above
    if (count > 0) {
      counts.set(hash, count - 1)
      left.push(link)
    } else sameM += here.segmentLengthMm[link >>> 1]! / 1000
  }
  return { sameM, left, right }
}

/** Lists the links that may be driven at some time, each with a hash of 53 bits of its line and attributes. */
function openLinks(graph: Graph): { link: number; hash: number }[] {
  const links: { link: number; hash: number }[] = []
  const line: number[] = []
  const texts = new Map<number, number>() // offset of a string → its hash
  const textHash = (offset: number) => {
    let known = texts.get(offset)
    if (known === undefined) {
      known = hashOfText(readString(graph, offset))
      texts.set(offset, known)
    }
    return known
  }
  const { links: conditional } = conditionWords(graph)
  for (let segment = 0; segment < graph.segmentCount; segment++) {
    readLine(graph, segment, line)
    for (let link = segment * 2; link <= segment * 2 + 1; link++) {
      const words = conditional.get(link)
      if (graph.linkSpeed[link] === 0 && words === undefined) continue
      const attributes = [
        graph.linkSpeed[link]!,
        graph.linkFlags[link]! & ACCESS_FLAGS,
        textHash(numberAt(graph.segmentName, segment)),
        textHash(numberAt(graph.linkNotes, link)),
        words === undefined ? 0 : hashOfText(words),
      ]
      links.push({ link, hash: hashOf([...(isBackward(link) ? turned(line) : line), ...attributes]) })
    }
  }
  return links
}

function hashOfText(text: string): number {
  return hashOf([...text].map((char) => char.codePointAt(0)!))
}

/** Hash of integers: two runs of FNV-1a with different bases, of which 53 bits are kept. */
function hashOf(values: readonly number[]): number {
  let low = 0x811c9dc5
  let high = 0x01000193
  for (const value of values) {
    // a hash itself may have more than 32 bits
    for (const part of [value | 0, Math.floor(value / 2 ** 32)]) {
      low = Math.imul(low ^ part, 0x01000193)
      low ^= low >>> 15
      high = Math.imul(high ^ part, 0x85ebca6b)
      high ^= high >>> 13
    }
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0)
}

/** First difference between two links at one place; undefined when they are equal. */
function differenceOf(here: Graph, a: number, there: Graph, b: number): DifferenceKind | undefined {
  if (here.linkSpeed[a] !== there.linkSpeed[b]) return 'speed'
  if ((here.linkFlags[a]! & ACCESS_FLAGS) !== (there.linkFlags[b]! & ACCESS_FLAGS)) return 'access'
  const nameOf = (graph: Graph, link: number) => readString(graph, numberAt(graph.segmentName, link >>> 1))
  if (nameOf(here, a) !== nameOf(there, b)) return 'name'
  if (conditionWords(here).links.get(a) !== conditionWords(there).links.get(b)) return 'conditions'
  const isSame =
    readString(here, numberAt(here.linkNotes, a)) === readString(there, numberAt(there.linkNotes, b))
  return isSame ? undefined : 'notes'
}

/** Sums up by kind, with the longest examples. */
function summarise(differing: ReadonlyMap<string, number>, maps: Record<Side, Graph>): Difference[] {
  const lists = KINDS.map((kind) => ({ kind, lengthM: 0, links: [] as [Side, number, number][] }))
  for (const [key, lengthM] of differing) {
    const [kind, side, link] = key.split(' ')
    const list = lists[Number(kind)]!
    list.lengthM += lengthM
    list.links.push([side as Side, Number(link), lengthM])
  }
  return lists
    .filter(({ links }) => links.length > 0)
    .map(({ kind, lengthM, links }) => ({
      kind,
      lengthM,
      examples: links
        .sort((a, b) => b[2] - a[2])
        .slice(0, MAX_EXAMPLES)
        .map(([side, link, metres]) => exampleOf(maps[side], link, metres)),
    }))
}

function exampleOf(graph: Graph, link: number, lengthM: number): Difference['examples'][number] {
  const segment = link >>> 1
  const junction = graph.segmentTail[segment]!
  return {
    name: readString(graph, numberAt(graph.segmentName, segment)),
    lng: graph.junctionLngE7[junction]! / 1e7,
    lat: graph.junctionLatE7[junction]! / 1e7,
    lengthM,
  }
}
