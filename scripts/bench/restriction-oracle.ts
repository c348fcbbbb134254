// Turn restrictions as the extract has them, and what routes do at them, from the lines of their answers. Shares
// no code with the builder but the reader of extracts.
//
// A restriction forbids to drive from its edge `from` over its via (a node, or ways) into its edge `to`. Of
// every arrival over `from` in an answer, the next 300 m behind the via are looked at:
// - driven: the route goes straight over the via into `to`; so it breaks the restriction;
// - evaded: it comes back to the via and goes into `to`, after it has turned round on the way, away from a dead
//   end, where another way would have led on;
// - atDeadEnd: the same, but the only place where it turned is a dead end, as the rule on U-turns allows;
// - roundBlock: it comes back without turning round, by roads that lead there.
import { openExtract, unpackBlob } from '../../src/mapbuild/extract/blobs.js'
import { createBlockReader } from '../../src/mapbuild/extract/block.js'
import type { Member, Tags } from '../../src/mapbuild/extract/osm-objects.js'
import { planeLengthM } from '../../src/routing/graph/plane-length.js'

/** A turn restriction, as points: `"lng lat"` in 1e-7 degree. */
interface Rule {
  readonly id: number
  /** before the via, and the nodes of the via in the order of travel: one, or those of the via ways */
  readonly from: string
  readonly via: readonly string[]
  /** forbidden points behind the via */
  readonly to: ReadonlySet<string>
}

/** Restrictions by the first point of their via. */
export type Rules = ReadonlyMap<string, readonly Rule[]>

/** Behaviour of a route at restrictions: numbers of arrivals over `from` by what follows, and cases to look at. */
export interface Tally {
  arrivals: number
  driven: number
  evaded: number
  atDeadEnd: number
  roundBlock: number
  readonly cases: string[]
}

type Position = readonly number[]

/** Distance behind the via within which a return counts. */
const WITHIN_M = 300
const FOR_CARS = ['restriction', 'restriction:vehicle', 'restriction:motor_vehicle', 'restriction:motorcar']

export function createTally(): Tally {
  return { arrivals: 0, driven: 0, evaded: 0, atDeadEnd: 0, roundBlock: 0, cases: [] }
}

/** Reads restrictions for cars that hold at all times; those that name a way not in the extract are left out. */
export function readRules(file: string): Rules {
  const places = new Map<number, string>()
  const ways = new Map<number, number[]>()
  const relations: { id: number; kind: string; members: readonly Member[] }[] = []
  const read = createBlockReader({
    nodeKeys: [],
    wayKeys: ['highway', 'route'],
    node: (id, lng, lat) => void places.set(id, `${lng} ${lat}`),
    way: (id, _tags, refs, count) => void ways.set(id, [...refs.subarray(0, count)]),
    relation(id, tags, members) {
      const kind = kindOf(tags)
      if (kind !== undefined) relations.push({ id, kind, members: [...members] })
    },
  })
  const source = openExtract(file)
  for (const blob of source.blobsFrom(0)) if (blob.type === 'OSMData') read(unpackBlob(blob), blob.offset)
  source.close()
  const atNode = new Map<number, number[][]>() // node → ways through it
  for (const refs of ways.values())
    for (const node of refs) atNode.set(node, [...(atNode.get(node) ?? []), refs])
  const rules = new Map<string, Rule[]>()
  for (const relation of relations) {
    for (const rule of rulesOf(relation, ways, atNode, places)) {
      const key = rule.via[0]!
      rules.set(key, [...(rules.get(key) ?? []), rule])
    }
  }
  return rules
}

/** `no…` or `only…`; undefined where the relation is no restriction for cars at all times. */
function kindOf(tags: Tags): string | undefined {
  const kind = FOR_CARS.map((key) => tags.get(key)).findLast((value) => value !== undefined)
  const isExcepted = (tags.get('except') ?? '')
    .split(/[; ]+/)
    .some((word) => /^(motorcar|motor_vehicle|vehicle)$/.test(word))
  const isAtTimes = [...tags.keys()].some((key) => /conditional|^(day|hour)_o/.test(key))
  if (tags.get('type') !== 'restriction' || kind === undefined || isExcepted || isAtTimes) return undefined
  return kind.endsWith('_on_red') ? undefined : kind
}

function rulesOf(
  { id, kind, members }: { id: number; kind: string; members: readonly Member[] },
  ways: ReadonlyMap<number, number[]>,
  atNode: ReadonlyMap<number, number[][]>,
  places: ReadonlyMap<number, string>,
): Rule[] {
  const of = (role: string) => members.filter((member) => member.role === role)
  const refsOf = (role: string) => of(role).flatMap(({ id }) => (ways.has(id) ? [ways.get(id)!] : []))
  const via = viaOf(of('via'), ways)
  const found: Rule[] = []
  for (const nodes of via.length > 1 ? [via, via.toReversed()] : [via]) {
    if (nodes.length === 0) continue
    for (const from of refsOf('from')) {
      for (const to of refsOf('to')) {
        // the middle of a way has two sides: what is meant is not clear
        const [before, ...others] = beside(from, nodes[0]!)
        const [after, ...more] = beside(to, nodes.at(-1)!)
        if (before === undefined || after === undefined || others.length + more.length > 0) continue
        const all = (atNode.get(nodes.at(-1)!) ?? []).flatMap((refs) => beside(refs, nodes.at(-1)!))
        const back = nodes.at(-2) ?? before
        const forbidden = kind.startsWith('no')
          ? [after]
          : all.filter((node) => node !== after && node !== back)
        if (from === to && nodes.length === 1) continue // a U-turn, which `routing-turns` looks at
        found.push({
          id,
          from: places.get(before)!,
          via: nodes.map((node) => places.get(node)!),
          to: new Set(forbidden.map((node) => places.get(node)!)),
        })
      }
    }
  }
  return found
}

/** Nodes of the via in the order of its ways: one node, or all of the ways, both ends included. */
function viaOf(members: readonly Member[], ways: ReadonlyMap<number, number[]>): number[] {
  const [only] = members
  if (members.length === 1 && only?.type === 'node') return [only.id]
  const lists = members.map(({ id }) => ways.get(id) ?? [])
  if (lists.some((refs) => refs.length === 0)) return []
  const nodes = [...(lists[0] ?? [])]
  for (const refs of lists.slice(1)) {
    if (nodes.at(-1) !== refs[0] && nodes.at(-1) !== refs.at(-1)) nodes.reverse()
    const isAlong = nodes.at(-1) === refs[0]
    if (!isAlong && nodes.at(-1) !== refs.at(-1)) return []
    nodes.push(...(isAlong ? refs : refs.toReversed()).slice(1))
  }
  return nodes
}

/** Neighbours of a node on a way. */
function beside(refs: readonly number[], node: number): number[] {
  return refs.flatMap((ref, i) =>
    ref === node ? [refs[i - 1], refs[i + 1]].filter((other) => other !== undefined) : [],
  )
}

/**
 * Looks at a leg at every restriction that it comes to.
 *
 * @param isDeadEnd place → true where traffic may turn round, because no other way leads on
 */
export function tallyLeg(
  rules: Rules,
  lines: readonly (readonly Position[])[],
  isDeadEnd: (at: Position) => boolean,
  tally: Tally,
): void {
  const points: Position[] = []
  for (const point of lines.flat()) if (`${points.at(-1)}` !== `${point}`) points.push(point)
  const keys = points.map(([lng = 0, lat = 0]) => `${Math.round(lng * 1e7)} ${Math.round(lat * 1e7)}`)
  for (let at = 1; at + 1 < points.length; at++) {
    for (const rule of rules.get(keys[at]!) ?? []) {
      if (!isOn(keys[at - 1]!, rule.from, keys[at]!, at === 1)) continue
      tally.arrivals++
      const what = follow(rule, points, keys, at, isDeadEnd)
      if (what === undefined) continue
      tally[what]++
      if (what === 'driven' || what === 'evaded')
        tally.cases.push(`${what}: relation ${rule.id} at ${points[at]}`)
    }
  }
}

function follow(
  rule: Rule,
  points: readonly Position[],
  keys: readonly string[],
  at: number,
  isDeadEnd: (at: Position) => boolean,
): 'driven' | 'evaded' | 'atDeadEnd' | 'roundBlock' | undefined {
  const end = rule.via.at(-1)!
  const isTo = (i: number) =>
    keys[i] === end && [...rule.to].some((to) => isOn(keys[i + 1]!, to, end, i + 2 === keys.length))
  const last = at + rule.via.length - 1
  if (rule.via.every((key, i) => keys[at + i] === key) && last + 1 < keys.length && isTo(last))
    return 'driven'
  let drivenM = -lengthOf(rule.via)
  for (let i = at + 1; i + 1 < points.length; i++) {
    drivenM += lengthOf([keys[i - 1]!, keys[i]!])
    if (drivenM > WITHIN_M) return undefined
    if (!isTo(i)) continue
    const turns: Position[] = []
    for (let k = at; k <= i; k++) if (keys[k - 1] === keys[k + 1]) turns.push(points[k]!)
    if (turns.length === 0) return 'roundBlock'
    return turns.every(isDeadEnd) ? 'atDeadEnd' : 'evaded'
  }
  return undefined
}

/** Returns true when a point is the neighbour of a junction, or, at an end of the route, lies between both. */
function isOn(key: string, neighbour: string, junction: string, isEnd: boolean): boolean {
  if (key === neighbour) return true
  return isEnd && lengthOf([neighbour, key, junction]) - lengthOf([neighbour, junction]) < 0.01
}

function lengthOf(keys: readonly string[]): number {
  const places = keys.map((key) => key.split(' ').map(Number) as [number, number])
  return places
    .slice(1)
    .reduce((sum, [lng, lat], i) => sum + planeLengthM(places[i]![0], places[i]![1], lng, lat), 0)
}

/** Starts and goals that tempt to evade restrictions: from the beginning of `from` to the end of `to`. */
export function temptingPairs(rules: Rules): [from: [number, number], to: [number, number]][] {
  const lonlat = (key: string) => key.split(' ').map((value) => Number(value) / 1e7) as [number, number]
  return [...rules.values()]
    .flat()
    .flatMap(({ from, to }) =>
      [...to].map((key): [[number, number], [number, number]] => [lonlat(from), lonlat(key)]),
    )
}
