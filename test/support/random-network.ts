import fc from 'fast-check'
import type { Overlay } from '../../src/routing/search/overlay.js'
import { allLinks, headOf, type Network, type Road, tailOf } from './make-graph.js'
import type { Theme } from './oracle.js'

/**
 * Small networks with loops, parallel roads, roads of length 0, one-ways, lone junctions, restrictions,
 * private roads.
 */
export function networks(maxJunctions = 7, maxRoads = 11): fc.Arbitrary<Network> {
  return fc
    .record({
      junctions: fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 40 })), {
        minLength: 2,
        maxLength: maxJunctions,
      }),
      seeds: fc.array(
        fc.record({
          from: fc.nat(1000),
          to: fc.nat(1000),
          speed: fc.constantFrom<[number, number]>([50, 50], [50, 0], [0, 30], [36, 36], [100, 5.5]),
          length: fc.constantFrom(0, 1, 900, 1000, 1000, 5000, 20_000, 1_234_567),
          isPrivate: fc.constantFrom(false, false, false, false, true),
        }),
        { minLength: 1, maxLength: maxRoads },
      ),
      turns: fc.array(
        fc.record({ picks: fc.array(fc.nat(1000), { minLength: 2, maxLength: 4 }), isOnly: fc.boolean() }),
        {
          maxLength: 4,
        },
      ),
      // links by bit: at whose ends turning round is forbidden, and which leave dead ends
      noUTurn: fc.constantFrom(0, 0xffffffff, 0x5a5a_f3c9),
      afterUTurn: fc.constantFrom(0, 0, 0x1234_5678),
      costs: fc.array(fc.tuple(fc.nat(1000), fc.nat(1000), fc.constantFrom(100, 2000, 7400, 60_000)), {
        maxLength: 8,
      }),
    })
    .map(({ junctions, seeds, turns, noUTurn, afterUTurn, costs }) => {
      const roads: Road[] = seeds.map(({ from, to, speed, length, isPrivate }) => ({
        from: from % junctions.length,
        to: to % junctions.length,
        speed,
        lengthMm: length,
        isPrivate,
      }))
      const network: Network = {
        junctions: junctions.map(([x, y]) => [10 + x * 0.001, 50 + y * 0.001]),
        roads,
      }
      network.restrictions = turns.flatMap(({ picks, isOnly }) => {
        const links = walk(network, picks)
        return links.length < 2 ? [] : [{ kind: isOnly ? ('only' as const) : ('no' as const), links }]
      })
      const chosen = (bits: number) =>
        roads.flatMap((_, i) => [i * 2, i * 2 + 1]).filter((link) => (bits >>> link) & 1)
      network.noUTurn = chosen(noUTurn)
      // a link without length is not told in a route, nor is its price
      network.afterUTurn = chosen(afterUTurn).filter((link) => roads[link >> 1]!.lengthMm! > 0)
      network.turnCosts = costs.flatMap(([first, second, ms]) => {
        const [from, to] = walk(network, [first, second])
        const isTold = to !== undefined && roads[to >> 1]!.lengthMm! > 0
        return isTold ? [{ from: from!, to, ms }] : []
      })
      return network
    })
}

/** Links one after another, as the picks choose among those that lead on. */
function walk(network: Network, picks: readonly number[]): number[] {
  const all = allLinks(network)
  const links: number[] = []
  for (const pick of picks) {
    const last = links.at(-1)
    const choice =
      last === undefined ? all : all.filter((link) => tailOf(network, link) === headOf(network, last))
    const link = choice[pick % choice.length]
    if (link === undefined) break
    links.push(link)
  }
  return links
}

/**
 * Levels on some of the roads, cut at one to three places; sensitivities in eighths, so that sums are exact.
 */
export function themes(roadLengthsMm: readonly number[]): fc.Arbitrary<Theme> {
  const sensitivity = fc.constantFrom<number[]>(
    [0, 0, 0, 0, 0, 1, 1, 10, 10, 9999, 9999],
    [0.5, 0.5, 1, 1, 2, 2, 3, 3, 4, 4, 5],
    [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.125, 1.25],
  )
  const cuts = fc.array(
    fc.record({
      road: fc.nat(1000),
      cuts: fc.array(fc.tuple(fc.nat(999), fc.nat(10)), { minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 6 },
  )
  return fc.record({ sensitivity, cuts }).map(({ sensitivity, cuts }) => {
    const pieces: Theme['pieces'] = new Map()
    for (const { road, cuts: places } of cuts) {
      const segment = road % roadLengthsMm.length
      const lengthMm = roadLengthsMm[segment]!
      if (lengthMm === 0) continue
      const ends = places
        .map(([part, level]): [number, number] => [Math.round((part / 1000) * lengthMm), level])
        .filter(([endMm]) => endMm > 0 && endMm < lengthMm)
        .sort((a, b) => a[0] - b[0])
        .filter(([endMm], i, all) => i === 0 || all[i - 1]![0] !== endMm)
      pieces.set(segment, [...ends, [lengthMm, places[0]![1]]])
    }
    return { sensitivity, pieces }
  })
}

/** The same levels as the search reads them. */
export function overlayOf(pieces: Theme['pieces']): Overlay {
  const segments = [...pieces.keys()].sort((a, b) => a - b)
  const firstPiece = [0]
  for (const segment of segments) firstPiece.push(firstPiece.at(-1)! + pieces.get(segment)!.length)
  const flat = segments.flatMap((segment) => pieces.get(segment)!)
  return {
    segments: Uint32Array.from(segments),
    firstPiece: Uint32Array.from(firstPiece),
    pieceEndMm: Uint32Array.from(flat, ([endMm]) => endMm),
    pieceLevel: Uint8Array.from(flat, ([, level]) => level),
  }
}
