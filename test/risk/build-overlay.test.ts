import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Geometry, Position } from '../../src/geo/types.js'
import { encodeWkb } from '../../src/geo/wkb.js'
import { buildOverlay, buildOverlaySliced, overlayBytes } from '../../src/risk/build-overlay.js'
import { addCell, addCellWkb, createCellSet, FORM } from '../../src/risk/cell-set.js'
import { createRectGrid } from '../../src/risk/rect-grid.js'
import { cornerOffsets, readLine } from '../../src/routing/graph/geometry.js'
import type { Graph } from '../../src/routing/graph/graph.js'
import { findSegment, type Overlay } from '../../src/routing/search/overlay.js'
import { type Cell, cellsOf, lattice, latticeRoads, place } from '../support/cells.js'
import { anyGeometry } from '../support/geometries.js'
import { makeGraph, type Road } from '../support/make-graph.js'

const roads = latticeRoads(6, { corners: 3, roads: 5 })

const rectangle = fc
  .tuple(
    fc.nat({ max: 11 }),
    fc.nat({ max: 11 }),
    fc.integer({ min: 1, max: 6 }),
    fc.integer({ min: 1, max: 6 }),
  )
  .map(([x, y, w, h]) => box(x / 2, y / 2, (x + w) / 2, (y + h) / 2))

t.test(
  'property: rectangles: each millimetre has the level of the highest half-open cell over it',
  async () => {
    const cells = fc.array(fc.record({ geometry: rectangle, level: fc.integer({ min: 0, max: 10 }) }), {
      maxLength: 8,
    })
    fc.assert(
      fc.property(roads, cells, (graph, list) => compare(graph, list, 0)),
      { numRuns: 300 },
    )
  },
)

t.test('property: any geometries: each millimetre has the level of the highest area over it', async () => {
  const position = lattice(12) as fc.Arbitrary<Position>
  const cells = fc.array(
    fc.record({ geometry: anyGeometry(position), level: fc.integer({ min: 1, max: 10 }) }),
    {
      maxLength: 6,
    },
  )
  fc.assert(
    fc.property(roads, cells, (graph, list) => compare(graph, list, 0.02)),
    { numRuns: 300 },
  )
})

t.test(
  'property: a rectangle covers the same as the same ring with a needless corner, and as WKB',
  async () => {
    fc.assert(
      fc.property(roads, rectangle, (graph, geometry) => {
        const [[first, second, ...rest]] = (geometry as unknown as { coordinates: [Position[]] }).coordinates
        const middle: Position = [((first?.[0] ?? 0) + (second?.[0] ?? 0)) / 2, first?.[1] ?? 0]
        const ring = [first, middle, second, ...rest] as Position[]
        const [plain, cornered, stored] = [createCellSet(), createCellSet(), createCellSet()]
        addCell(plain, geometry, 3)
        addCell(cornered, { type: 'Polygon', coordinates: [ring] }, 3)
        addCellWkb(stored, encodeWkb(geometry), 3)
        deepStrictEqual([plain.form[0], cornered.form[0]], [FORM.RECTANGLE, FORM.RING])
        deepStrictEqual(buildOverlay(graph, plain), buildOverlay(graph, cornered))
        deepStrictEqual(buildOverlay(graph, plain), buildOverlay(graph, stored))
      }),
      { numRuns: 100 },
    )
  },
)

t.test('property: two halves of an area never leave a gap on a road, nor share one', async () => {
  const cut = fc.tuple(fc.nat({ max: 12 }), fc.nat({ max: 12 }), fc.nat({ max: 12 }))
  fc.assert(
    fc.property(roads, cut, (graph, [south, middle, north]) => {
      const line = [place(south / 2, 0), place(middle / 2, 3), place(north / 2, 6)]
      const west: Geometry = {
        type: 'Polygon',
        coordinates: [[place(-9, 0), ...line, place(-9, 6), place(-9, 0)]],
      }
      const east: Geometry = {
        type: 'Polygon',
        coordinates: [[...line, place(19, 6), place(19, 0), line[0] as Position]],
      }
      const both = buildOverlay(
        graph,
        cellsOf([
          { geometry: west, level: 4 },
          { geometry: east, level: 4 },
        ]),
      )
      const whole = buildOverlay(graph, cellsOf([{ geometry: box(-9, 0, 19, 6), level: 4 }]))
      deepStrictEqual(both, whole)
    }),
    { numRuns: 200 },
  )
})

t.test('buildOverlay: a road along a border is in the cell to the east, or to the north', async (t) => {
  const graph = makeGraph({
    junctions: [place(2, 0), place(2, 4), place(0, 2), place(4, 2)],
    roads: [
      { from: 0, to: 1, speed: [30, 30] },
      { from: 2, to: 3, speed: [30, 30] },
    ],
  })
  const levels = (geometry: Geometry) =>
    Array.from(buildOverlay(graph, cellsOf([{ geometry, level: 1 }])).segments)
  t.same(levels(box(2, 0, 3, 1)), [0], 'its western border')
  t.same(levels(box(1, 0, 2, 1)), [], 'its eastern border')
  t.same(levels(box(0, 2, 1, 3)), [1], 'its southern border')
  t.same(levels(box(0, 1, 1, 2)), [], 'its northern border')
  t.same(levels(box(4, 2, 5, 3)), [], 'only a corner at the end of the road')
})

t.test(
  'buildOverlay: pieces tile a segment, holes have level 0, points and lines cover nothing',
  async (t) => {
    const graph = makeGraph({
      junctions: [place(0, 1), place(10, 1)],
      roads: [{ from: 0, to: 1, speed: [30, 30], lengthMm: 10_000 }],
    })
    const ring = (geometry: Geometry) =>
      (geometry as { coordinates: Position[][] }).coordinates[0] as Position[]
    const holed: Geometry = { type: 'Polygon', coordinates: [ring(box(1, 0, 9, 3)), ring(box(4, 0.5, 6, 2))] }
    const overlay = buildOverlay(
      graph,
      cellsOf([
        { geometry: holed, level: 2 },
        { geometry: box(8, 0, 20, 2), level: 7 },
        { geometry: { type: 'Point', coordinates: place(5, 1) }, level: 9 },
        { geometry: { type: 'LineString', coordinates: [place(0, 1), place(10, 1)] }, level: 9 },
      ]),
    )
    t.same(overlay.segments, new Uint32Array([0]))
    t.same(overlay.pieceEndMm, new Uint32Array([1000, 4000, 6000, 8000, 10_000]))
    t.same(overlay.pieceLevel, new Uint8Array([0, 2, 0, 2, 7]))
    t.equal(overlayBytes(overlay), 4 + 8 + 20 + 5)
  },
)

t.test('buildOverlay: rectangles too many for a grid are half-open as well', async (t) => {
  // no two share a border, so their table would have more than 4 million fields; all are far from the roads
  const far = Array.from({ length: 1100 }, (_, i) => ({
    geometry: box(1000 + i * 3, 1000 + i * 3, 1001 + i * 3, 1001 + i * 3),
    level: 1,
  }))
  const cells = cellsOf([{ geometry: box(2, 2, 4, 4), level: 3 }, ...far])
  t.equal(createRectGrid(cells), undefined)
  const pieces = (from: [number, number], to: [number, number]) => {
    const road: Road = { from: 0, to: 1, speed: [30, 30], lengthMm: 1000 }
    const graph = makeGraph({ junctions: [place(...from), place(...to)], roads: [road] })
    const overlay = buildOverlay(graph, cells)
    return piecesOf(overlay, findSegment(overlay, 0)).map(({ endMm, level }) => [endMm, level])
  }
  for (const [at, expected] of [
    [1.5, []],
    [2, [[1000, 3]]],
    [3, [[1000, 3]]],
    [4, []],
    [4.5, []],
  ] as const) {
    t.same(pieces([at, 2.5], [at, 3.5]), expected, `along x ${at}`)
    t.same(pieces([2.5, at], [3.5, at]), expected, `along y ${at}`)
  }
  const [outwards, inwards] = [
    [
      [500, 3],
      [1000, 0],
    ],
    [
      [500, 0],
      [1000, 3],
    ],
  ] // prettier-ignore
  for (const end of [
    [1, 3],
    [5, 3],
    [3, 1],
    [3, 5],
  ] as [number, number][]) {
    t.same(pieces([3, 3], end), outwards, `out to ${end}`)
    t.same(pieces(end, [3, 3]), inwards, `in from ${end}`)
  }
})

t.test('buildOverlay: a segment without length has no pieces and is not listed', async (t) => {
  const graph = makeGraph({
    junctions: [place(0, 0), place(1, 0), place(1, 0)],
    roads: [
      { from: 0, to: 1, speed: [30, 30] },
      { from: 1, to: 2, speed: [30, 30], lengthMm: 0 },
    ],
  })
  const overlay = buildOverlay(graph, cellsOf([{ geometry: box(-5, -5, 5, 5), level: 3 }]))
  t.same(overlay.segments, new Uint32Array([0]))
  t.same(overlay.firstPiece, new Uint32Array([0, 1]))
})

t.test('addCell: levels are clamped and counted, level 0 and empty geometries are not kept', async (t) => {
  const cells = createCellSet()
  t.ok(addCell(cells, box(0, 0, 1, 1), 14))
  t.notOk(addCell(cells, box(0, 0, 1, 1), -3))
  t.notOk(addCell(cells, box(0, 0, 1, 1), 0))
  t.notOk(addCell(cells, { type: 'MultiPolygon', coordinates: [] }, 5))
  t.notOk(addCellWkb(cells, new Uint8Array([1, 2, 3]), 5))
  t.match(cells, { level: [10], clampedCount: 2, unreadableCount: 1 })
  t.ok(addCell(cells, box(0, 0, 1, 1), 2.6))
  t.match(cells, { level: [10, 3], clampedCount: 3 }, 'a fraction is rounded and counted')
})

t.test('addCellWkb: a polygon whose number of rings does not fit its bytes is unreadable', async (t) => {
  const cells = createCellSet()
  const wkb = encodeWkb(box(0, 0, 1, 1))
  wkb[5] = 2
  t.notOk(addCellWkb(cells, wkb, 5))
  t.match(cells, { level: [], unreadableCount: 1 })
})

t.test(
  'buildOverlay: in slices of few segments, between which other work runs, or the whole ends',
  async (t) => {
    const count = 400
    const graph = makeGraph({
      junctions: Array.from({ length: count * 2 }, (_, at) => place(at % 2, at >> 1)),
      roads: Array.from({ length: count }, (_, at) => ({
        from: at * 2,
        to: at * 2 + 1,
        speed: [30, 30],
        corners: [],
        lengthMm: 5000,
      })),
    })
    const cells = cellsOf([{ geometry: box(-1, -1, 0.5, count), level: 3 }])
    const slices = buildOverlaySliced(graph, cells)
    let [yields, slice] = [0, slices.next()]
    for (; slice.done !== true; slice = slices.next()) yields++
    t.ok(yields >= count / 16, `${yields} slices`)
    t.same(slice.value, buildOverlay(graph, cells))
    t.equal(slice.value.segments.length, count)
  },
)

t.test('buildOverlay: a map without an index of its segments is an error', async (t) => {
  const graph = makeGraph({
    junctions: [place(0, 0), place(1, 1)],
    roads: [{ from: 0, to: 1, speed: [1, 1] }],
  })
  const cells = cellsOf([{ geometry: box(0, 0, 1, 1), level: 3 }])
  t.throws(
    () => buildOverlay({ ...graph, segmentIndex: new Uint8Array(0) }, cells),
    /no index of its segments/,
  )
})

t.test('buildOverlay: no cells, no segments', async (t) => {
  const graph = makeGraph({
    junctions: [place(0, 0), place(1, 1)],
    roads: [{ from: 0, to: 1, speed: [1, 1] }],
  })
  t.same(Array.from(buildOverlay(graph, createCellSet()).firstPiece), [0])
})

function box(west: number, south: number, east: number, north: number): Geometry {
  const corners = [
    place(west, south),
    place(east, south),
    place(east, north),
    place(west, north),
    place(west, south),
  ]
  return { type: 'Polygon', coordinates: [corners] }
}

/** @param shake a point this near to a border (1e-7 degree) may have the level of either side */
function compare(graph: Graph, list: Cell[], shake: number): void {
  const overlay = buildOverlay(graph, cellsOf(list))
  const rings = list.map(({ geometry, level }) => ({ polygons: polygonsOf(geometry), level }))
  for (let segment = 0; segment < graph.segmentCount; segment++) {
    const at = findSegment(overlay, segment)
    const pieces = at < 0 ? [{ endMm: 5000, level: 0 }] : piecesOf(overlay, at)
    deepStrictEqual(pieces.at(-1)?.endMm, 5000)
    let startMm = 0
    for (const { endMm, level } of pieces) {
      ok(endMm > startMm)
      for (const mm of [
        startMm + 1.1,
        startMm + 0.37 * (endMm - startMm),
        startMm + 0.6183 * (endMm - startMm),
        endMm - 1.1,
      ]) {
        if (mm < startMm + 1 || mm > endMm - 1) continue
        const expected = levelsAround(rings, pointAt(graph, segment, mm), shake)
        ok(expected.has(level), `segment ${segment} at ${mm} mm: ${level} is not in ${[...expected]}`)
      }
      startMm = endMm
    }
    for (let mm = 13.7; mm < 5000; mm += 61.3) {
      const piece = pieces.findIndex(({ endMm }) => endMm >= mm)
      const near = [piece - 1, piece, piece + 1].flatMap((i) => pieces[i] ?? [])
      const isAtCut = near.some(({ endMm }) => Math.abs(endMm - mm) < 1.1)
      const expected = levelsAround(rings, pointAt(graph, segment, mm), shake)
      ok(isAtCut || expected.has(pieces[piece]?.level ?? 0), `segment ${segment} at ${mm} mm`)
    }
  }
}

function piecesOf(overlay: Overlay, at: number): { endMm: number; level: number }[] {
  const list = []
  for (let piece = overlay.firstPiece[at] ?? 0; piece < (overlay.firstPiece[at + 1] ?? 0); piece++)
    list.push({ endMm: overlay.pieceEndMm[piece] ?? 0, level: overlay.pieceLevel[piece] ?? 0 })
  return list
}

function pointAt(graph: Graph, segment: number, mm: number): [number, number] {
  const [xy, offsets]: [number[], number[]] = [[], []]
  readLine(graph, segment, xy)
  cornerOffsets(xy, 5000, offsets)
  const corner = Math.max(
    1,
    offsets.findIndex((offset) => offset > mm),
  )
  const [from = 0, to = 0] = offsets.slice(corner - 1, corner + 1)
  const t = to > from ? (mm - from) / (to - from) : 0
  const [ax = 0, ay = 0, bx = 0, by = 0] = xy.slice(corner * 2 - 2, corner * 2 + 2)
  return [ax + (bx - ax) * t, ay + (by - ay) * t]
}

type Polygons = Position[][][]

/** In whole 1e-7 degrees, which all lattice places are. */
function polygonsOf(geometry: Geometry): Polygons {
  if (geometry.type === 'GeometryCollection') return geometry.geometries.flatMap(polygonsOf)
  if (geometry.type !== 'Polygon' && geometry.type !== 'MultiPolygon') return []
  const polygons = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates
  const scale = ([lng, lat]: Position): Position => [Math.round(lng * 1e7), Math.round(lat * 1e7)]
  return polygons.map((rings) => rings.map((ring) => ring.map(scale)))
}

function levelsAround(
  cells: { polygons: Polygons; level: number }[],
  [x, y]: [number, number],
  shake: number,
): Set<number> {
  const shakes =
    shake === 0
      ? [[0, 0]]
      : [
          [0, 0],
          [shake, shake],
          [-shake, shake],
          [shake, -shake],
          [-shake, -shake],
        ]
  return new Set(
    shakes.map(([dx = 0, dy = 0]) => {
      const over = cells.filter(({ polygons }) => polygons.some((rings) => isIn(rings, x + dx, y + dy)))
      return Math.max(0, ...over.map(({ level }) => level))
    }),
  )
}

function isIn(rings: Position[][], x: number, y: number): boolean {
  let isInside = false
  for (const ring of rings) {
    for (let i = 1; i < ring.length; i++) {
      const [[ax, ay], [bx, by]] = [ring[i - 1] as Position, ring[i] as Position]
      if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) isInside = !isInside
    }
  }
  return isInside
}
