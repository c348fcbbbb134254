/** Way of a relation or of a coast: ids of its nodes. */
export interface EndedWay {
  /** OSM ids of nodes; at least two */
  readonly refs: ArrayLike<number>
}

/** Result of joining ways at their ends. */
export interface JoinedWays {
  /** node ids, the first repeated at the end */
  readonly rings: number[][]
  /** chains that do not close */
  readonly open: number[][]
}

/**
 * Joins ways at their ends to rings. Where more than two ways meet, any choice gives the same area under the
 * even-odd rule, as long as all close.
 *
 * @param isDirected ways are joined end to start only, as coastlines are
 */
export function joinWays(ways: readonly EndedWay[], isDirected = false): JoinedWays {
  const atNode = indexEnds(ways, isDirected)
  const isUsed = new Uint8Array(ways.length)
  const rings: number[][] = []
  const open: number[][] = []
  // chains that begin where nothing ends are walked first, so that none of them is begun in its middle
  const starts = isDirected ? chainStarts(ways) : []
  for (const first of [...starts, ...ways.keys()]) {
    if (isUsed[first] === 1) continue
    const chain = walk(ways, first, atNode, isUsed)
    if (chain.length > 3 && chain[0] === chain[chain.length - 1]) rings.push(chain)
    else open.push(chain)
  }
  return { rings, open }
}

/** Node → ways that can be continued from it. */
function indexEnds(ways: readonly EndedWay[], isDirected: boolean): Map<number, number[]> {
  const atNode = new Map<number, number[]>()
  const add = (node: number, way: number) => {
    const known = atNode.get(node)
    if (known === undefined) atNode.set(node, [way])
    else known.push(way)
  }
  for (const [way, { refs }] of ways.entries()) {
    add(refs[0]!, way)
    if (!isDirected) add(refs[refs.length - 1]!, way)
  }
  return atNode
}

function chainStarts(ways: readonly EndedWay[]): number[] {
  const ends = new Set(ways.map(({ refs }) => refs[refs.length - 1]!))
  return [...ways.keys()].filter((way) => !ends.has(ways[way]!.refs[0]!))
}

/** Follows ways from one on, until the chain closes or ends. */
function walk(
  ways: readonly EndedWay[],
  first: number,
  atNode: ReadonlyMap<number, number[]>,
  isUsed: Uint8Array,
): number[] {
  const chain = Array.from(ways[first]!.refs)
  isUsed[first] = 1
  while (chain[0] !== chain[chain.length - 1]) {
    const end = chain[chain.length - 1]!
    const candidates = atNode.get(end)
    let next = candidates?.pop()
    while (next !== undefined && isUsed[next] === 1) next = candidates?.pop()
    if (next === undefined) break
    isUsed[next] = 1
    const { refs } = ways[next]!
    const count = refs.length
    const isForward = refs[0] === end
    for (let i = 1; i < count; i++) chain.push(isForward ? refs[i]! : refs[count - 1 - i]!)
  }
  return chain
}
