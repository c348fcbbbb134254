import t from 'tap'
import { findIsochrones } from '../../../src/routing/search/isochrone.js'
import { createProfile } from '../../../src/routing/search/profile.js'
import { runToEnd } from '../../../src/routing/search/sliced-task.js'
import { FINE, faultsOfArea, isochronesOf, placeOn, searcherOn } from '../../support/isochrones.js'
import { makeGraph } from '../../support/make-graph.js'
import { seeded } from '../../support/random-graph.js'
import { throwsWith } from '../../support/throws.js'
import { at, town } from '../../support/town.js'
import { faultsOf, isWithin } from '../../support/valid-polygons.js'

t.test('findIsochrones: areas under risk hold all roads that are reached', async (t) => {
  const random = seeded(11)
  for (let run = 0; run < 12; run++) {
    const network = town(9)
    for (const road of network.roads) road.speed = [5 + Math.floor(random() * 60), random() < 0.2 ? 0 : 30]
    const profile = createProfile(makeGraph(network))
    const lonlat = at(random() * 8, random() * 8)
    const limitMs = Math.floor(random() * 200_000)
    const [area] = isochronesOf(profile, lonlat, [limitMs])
    const { reached, ...faults } = faultsOfArea(profile, lonlat, limitMs, area!)
    t.ok(reached > 0)
    t.same(faults, FINE, `run ${run}`)
    t.same(faultsOf(area!.polygons), [], `run ${run}`)
  }
})

t.test('findIsochrones: an area ends where the cost falls inside a road, from both sides', async (t) => {
  // 2 km to the east and 2 km to the west, one of them faster
  const graph = makeGraph({
    junctions: [[10, 50], [10.028, 50], [9.972, 50]], // biome-ignore format: places
    roads: [
      { from: 0, to: 1, speed: [36, 36] },
      { from: 2, to: 0, speed: [72, 72] },
    ],
  })
  const [area] = isochronesOf(createProfile(graph), [10, 50], [60_000])
  t.equal(area?.junctionCount, 1)
  const lngs = area?.polygons.flat(2).map(([lng]) => lng) ?? []
  const metre = 0.014 / 1003.6
  t.ok(
    Math.abs(Math.max(...lngs) - 10 - (600 + 50) * metre) < 25 * metre,
    'a minute at 36 km/h, and the width',
  )
  t.ok(
    Math.abs(10 - Math.min(...lngs) - (1200 + 50) * metre) < 25 * metre,
    'a minute at 72 km/h, and the width',
  )
})

t.test('findIsochrones: water between two roads is not in the area, nor is a ferry', async (t) => {
  // two quays of 2 km, 400 m apart, with a bridge at the western end; a ferry at the eastern end
  const quays: [number, number][] = [[10, 50], [10.028, 50], [10, 50.0036], [10.028, 50.0036]] // biome-ignore format: places
  const bridge = [
    { from: 0, to: 1, speed: [50, 50] as [number, number] },
    { from: 0, to: 2, speed: [50, 50] as [number, number] },
    { from: 2, to: 3, speed: [50, 50] as [number, number] },
  ]
  const ferry = { from: 1, to: 3, speed: [10, 10] as [number, number], isFerry: true }
  for (const roads of [bridge, [...bridge, ferry]]) {
    const [area] = isochronesOf(createProfile(makeGraph({ junctions: quays, roads })), [10.014, 50], [1e9])
    const inside = (lng: number, lat: number) =>
      area?.polygons.some((polygon) => isWithin(polygon, lng, lat)) ?? false
    t.equal(area?.junctionCount, 4)
    t.same([inside(10.02, 50), inside(10.02, 50.0036), inside(10, 50.0018)], [true, true, true])
    t.same([inside(10.02, 50.0018), inside(10.028, 50.0018)], [false, false], 'the river')
  }
  const onFerry = createProfile(makeGraph({ junctions: quays, roads: [...bridge, ferry] }))
  const [area] = isochronesOf(onFerry, [10.028, 50.0018], [1e9])
  t.equal(area?.junctionCount, 4)
})

t.test('findIsochrones: gaps and small holes between roads are closed, large ones are not', async (t) => {
  // blocks of 300 m and of 600 m
  for (const [side, isFilled] of [
    [300, true],
    [600, false],
  ] as const) {
    // biome-ignore format: cases
    const [dx, dy] = [side / 71_700, side / 111_300]
    const junctions: [number, number][] = [[10, 50], [10 + dx, 50], [10 + dx, 50 + dy], [10, 50 + dy]] // biome-ignore format: places
    const roads = junctions.map((_, i) => ({
      from: i,
      to: (i + 1) % 4,
      speed: [50, 50] as [number, number],
    }))
    const [area] = isochronesOf(createProfile(makeGraph({ junctions, roads })), [10, 50], [1e9])
    t.equal(area?.polygons.flat().length, isFilled ? 1 : 2, `${side} m`)
  }
})

t.test('findIsochrones: the area of a limit does not depend on the other limits', async (t) => {
  const random = seeded(5)
  // villages some 10 km from one another
  const junctions = Array.from({ length: 40 }, () => [10 + random(), 50 + random()] as [number, number])
  const roads = junctions
    .slice(1)
    .map((_, i) => ({ from: i, to: i + 1, speed: [50, 50] as [number, number] }))
  const profile = createProfile(makeGraph({ junctions, roads, restrictions: [] }))
  const limits = [4_000_000, 9_000_000, 16_000_000, 1e9]
  const together = isochronesOf(profile, junctions[20]!, limits)
  for (const [i, limitMs] of limits.entries())
    t.same(isochronesOf(profile, junctions[20]!, [limitMs]), [together[i]], `${limitMs} ms`)
})

t.test('findIsochrones: an area of several hundred kilometres has wider surroundings', async (t) => {
  const junctions: [number, number][] = [[10, 50], [13, 50], [13, 53], [10, 53]] // biome-ignore format: places
  const roads = [0, 1, 2].map((i) => ({ from: i, to: i + 1, speed: [50, 50] as [number, number] }))
  const [area] = isochronesOf(createProfile(makeGraph({ junctions, roads })), [10, 50], [1e9])
  t.same(faultsOf(area?.polygons ?? []), [])
  const lats = area?.polygons.flat(2).map(([, lat]) => lat) ?? []
  const widthM = (50 - Math.min(...lats)) * 111_300
  // the root of its 200 km × 334 km, by 1024
  t.ok(widthM > 200 && widthM < 350, `${widthM} m`)
})

t.test('findIsochrones: a road of many kilometres fits into its grid', async (t) => {
  const junctions: [number, number][] = [[0, 0], [170, 0]] // biome-ignore format: places
  const graph = makeGraph({ junctions, roads: [{ from: 0, to: 1, speed: [50, 50] }] })
  const [area] = isochronesOf(createProfile(graph), [0, 0], [1e12])
  t.equal(area?.junctionCount, 2)
  t.same(faultsOf(area?.polygons ?? []), [])
})

t.test('findIsochrones: a start within a road has an area at any cost; SEARCH_TOO_LARGE', async (t) => {
  const graph = makeGraph(town(5))
  const profile = createProfile(graph)
  const [none] = isochronesOf(profile, at(2.5, 2), [0])
  t.equal(none?.junctionCount, 0)
  t.equal(none?.polygons.length, 1)
  t.ok(isWithin(none?.polygons[0] ?? [], ...at(2.5, 2)))
  throwsWith(
    t,
    () => runToEnd(findIsochrones(searcherOn(profile, 3), placeOn(graph, at(2.5, 2)), [1e9])),
    'SEARCH_TOO_LARGE',
  )
})

t.test('findIsochrones: other work runs between the steps of a large area', async (t) => {
  const profile = createProfile(makeGraph(town(60)))
  const task = findIsochrones(searcherOn(profile), placeOn(profile.graph, at(30, 30)), [1e9])
  let slices = 0
  while (task.next().done !== true) slices++
  t.ok(slices >= 3, `${slices} slices`)
})

t.test(
  'findIsochrones: the junction that the point lies on is reached, also where no road leads to it',
  async (t) => {
    for (const [speed, isHead] of [
      [[50, 0], false],
      [[0, 50], true],
    ] as [[number, number], boolean][]) {
      const graph = makeGraph({ junctions: [at(0, 0), at(1, 0)], roads: [{ from: 0, to: 1, speed }] })
      const [near, far] = isochronesOf(createProfile(graph), at(isHead ? 1 : 0, 0), [0, 1e9])
      t.same([near?.junctionCount, far?.junctionCount], [1, 2])
    }
  },
)

t.test('findIsochrones: a turn that is forbidden now is not made', async (t) => {
  const junctions: [number, number][] = [[10, 50], [10.02, 50], [10.04, 50]] // biome-ignore format: places
  const speed: [number, number] = [50, 50]
  const graph = makeGraph({ junctions, roads: [{ from: 0, to: 1, speed }, { from: 1, to: 2, speed }] }) // biome-ignore format: roads
  const onward = [...graph.arcLink].flatMap((link, arc) => (link === 2 ? [arc] : []))
  t.ok(onward.length > 0)
  for (const [closedArcs, isReached] of [
    [new Set<number>(), true],
    [new Set(onward), false],
  ] as const) {
    const [area] = isochronesOf(createProfile({ ...graph, closedArcs }), [10.01, 50], [1e9])
    t.equal(
      area?.polygons.some((polygon) => isWithin(polygon, 10.03, 50)),
      isReached,
    )
    t.equal(area?.junctionCount, isReached ? 3 : 2)
  }
})
