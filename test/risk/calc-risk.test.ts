import { ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { distanceM, walkGeodesic } from '../../src/geo/geodesic.js'
import type { Geometry, Position } from '../../src/geo/types.js'
import { encodeWkb } from '../../src/geo/wkb.js'
import { calcRisk } from '../../src/risk/calc-risk.js'
import { addTimedCell, createTimedCells, type TimedCells } from '../../src/risk/timed-cells.js'
import type { RiskStretch } from '../../src/risk/travel.js'
import { lineOfLeg, planTravel, travelSpan } from '../../src/risk/travel.js'
import { riskAnswer } from '../../src/route-answer/risk-answer.js'
import { boxPolygon as box } from '../support/boxes.js'

const HOUR_US = 3_600_000_000n
const START_US = 1_700_000_000_000_000n

interface Cell {
  geometry: Geometry
  level: number
  startUs: bigint | null
  endUs: bigint | null
}

const always = (geometry: Geometry, level: number): Cell => ({ geometry, level, startUs: null, endUs: null })
const stretch = (
  from: [number, number],
  to: [number, number],
  kmPerH: number,
  startUs?: bigint,
): RiskStretch => ({
  from,
  to,
  kmPerH,
  startUs,
})

function timed(cells: Cell[]): TimedCells {
  const set = createTimedCells(START_US)
  for (const { geometry, level, startUs, endUs } of cells)
    addTimedCell(set, encodeWkb(geometry), level, startUs, endUs)
  return set
}

t.test('calcRisk: level 2 for 1.5 hours is 3', async (t) => {
  const lengthM = distanceM([139, 35], [140, 35])
  const legs = planTravel([stretch([139, 35], [140, 35], lengthM / 1000 / 1.5)], START_US)
  const risk = calcRisk(legs, new Map([['flood', timed([always(box(138, 34, 141, 36), 2)])]]))
  const answer = riskAnswer(risk, START_US, String)
  t.match(answer, {
    exposure: { total: 3, themes: { flood: 3 } },
    max_risk: 2,
    avr_risk: 2,
    time: 1.5,
    end_datetime: String(START_US + (HOUR_US * 3n) / 2n),
  })
  t.same(answer.segments[0]?.start_lonlat, [139, 35])
})

t.test('calcRisk: cuts at the times of the cells, which are half-open', async (t) => {
  const lengthM = distanceM([139, 35], [140, 35])
  const legs = planTravel([stretch([139, 35], [140, 35], lengthM / 1000 / 4)], START_US)
  const area = box(138, 34, 141, 36)
  const at = (hours: number) => START_US + BigInt(hours) * HOUR_US
  const cells = timed([
    { geometry: area, level: 1, startUs: at(-5), endUs: at(1) },
    { geometry: area, level: 6, startUs: at(1), endUs: at(2) },
    { geometry: area, level: 2, startUs: at(1), endUs: at(3) },
    { geometry: area, level: 9, startUs: at(4), endUs: at(5) },
    { geometry: area, level: 9, startUs: at(-2), endUs: at(0) },
  ])
  const risk = calcRisk(legs, new Map([['flood', cells]]))
  t.ok(Math.abs(risk.total - (1 + 6 + 2)) < 1e-9)
  t.equal(risk.maxLevel, 6)
  t.same(travelSpan(legs), { fromUs: START_US, untilUs: at(4) })
})

t.test('calcRisk: themes add up, the average takes the highest', async (t) => {
  const lengthM = distanceM([139, 35], [140, 35])
  const legs = planTravel([stretch([139, 35], [140, 35], lengthM / 1000)], START_US)
  const themes = new Map([
    ['a', timed([always(box(138, 34, 141, 36), 2)])],
    ['b', timed([always(box(138, 34, 141, 36), 5)])],
    ['c', timed([])],
  ])
  const answer = riskAnswer(calcRisk(legs, themes), START_US, String)
  t.same(answer.exposure, { total: 7, themes: { a: 2, b: 5, c: 0 } })
  t.equal(answer.avr_risk, 5)
})

t.test(
  'calcRisk: a leg along a border is in the cell to the east, with few and with many cells',
  async (t) => {
    const legs = planTravel([stretch([139, 35], [139, 35.1], 10)], START_US)
    const far = Array.from({ length: 70 }, (_, i) => always(box(100 + i / 10, 0, 100.05 + i / 10, 1), 9))
    for (const others of [[], far]) {
      const cells = timed([always(box(139, 34, 140, 36), 2), always(box(138, 34, 139, 36), 7), ...others])
      t.equal(calcRisk(legs, new Map([['flood', cells]])).maxLevel, 2)
    }
  },
)

t.test('travelSpan: from the first start to the last end, in any order of legs', async (t) => {
  const at = (hours: number) => START_US + BigInt(hours) * HOUR_US
  const legs = planTravel(
    [
      stretch([139, 35], [139, 35], 10, at(5)),
      stretch([139, 35], [139, 35], 10, at(2)),
      stretch([139, 35], [139, 35], 10, at(3)),
    ],
    START_US,
  )
  t.same(travelSpan(legs), { fromUs: at(2), untilUs: at(5) })
  t.same(travelSpan([]), { fromUs: 0n, untilUs: 0n })
})

t.test('planTravel: a missing start is the end before; waiting is no exposure', async (t) => {
  const later = START_US + 10n * HOUR_US
  const legs = planTravel(
    [
      stretch([139, 35], [139.1, 35], 10),
      stretch([139.1, 35], [139.1, 35], 10),
      stretch([139.1, 35], [139.2, 35], 20),
      stretch([139.2, 35], [139.3, 35], 20, later),
    ],
    START_US,
  )
  t.equal(legs[1]?.startUs, legs[0]?.endUs)
  t.equal(legs[1]?.endUs, legs[1]?.startUs)
  t.equal(legs[2]?.startUs, legs[0]?.endUs)
  t.equal(legs[3]?.startUs, later)
  const risk = calcRisk(legs, new Map([['flood', timed([always(box(138, 34, 141, 36), 4)])]]))
  t.ok(Math.abs(risk.total - 4 * risk.hours) < 1e-9)
  t.equal(risk.legs[1]?.total, 0)
})

t.test('lineOfLeg: the shortest line, also over the antimeridian', async (t) => {
  const [leg] = planTravel([stretch([179, 60], [-179, 60], 100)], START_US)
  if (leg === undefined) throw new Error('no leg')
  const line = lineOfLeg(leg)
  t.equal(line.east, 1_800_000_000)
  t.equal(line.west, -1_800_000_000)
  t.ok(line.north > 600_000_000, 'it bends to the north')
  const western = calcRisk([leg], new Map([['x', timed([always(box(-180, 50, -170, 70), 1)])]]))
  t.ok(Math.abs(western.total - leg.hours / 2) < 1e-6, 'half of it is west of the line')
})

t.test('property: calcRisk equals a dense walk along the geodesic', async () => {
  const degrees = fc.integer({ min: 0, max: 20 }).map((n) => n / 10)
  const place = fc.tuple(degrees, degrees).map(([x, y]): [number, number] => [139 + x, 35 + y])
  const cell = fc
    .record({
      corners: fc.array(place, { minLength: 3, maxLength: 5 }),
      isRectangle: fc.boolean(),
      level: fc.integer({ min: 0, max: 10 }),
      startH: fc.option(fc.integer({ min: -1, max: 8 })),
      hours: fc.option(fc.integer({ min: 1, max: 5 })),
    })
    .map(({ corners, isRectangle, level, startH, hours }): Cell => {
      const [[w, s], [e, n]] = corners as [Position, Position]
      const ring = [...corners, corners[0] as Position]
      const startUs = startH === null ? null : START_US + BigInt(startH) * HOUR_US
      return {
        geometry: isRectangle
          ? box(Math.min(w, e), Math.min(s, n), Math.max(w, e) + 0.05, Math.max(s, n) + 0.05)
          : { type: 'Polygon', coordinates: [ring] },
        level,
        startUs,
        endUs: hours === null ? null : (startUs ?? START_US) + BigInt(hours) * HOUR_US,
      }
    })
  const journey = fc.tuple(fc.array(place, { minLength: 2, maxLength: 4 }), fc.integer({ min: 20, max: 120 }))
  const themes = fc.array(fc.array(cell, { maxLength: 5 }), { maxLength: 2 })
  fc.assert(
    fc.property(journey, themes, ([places, kmPerH], lists) => {
      const stretches = places.slice(1).map((to, i) => stretch(places[i] as [number, number], to, kmPerH))
      const legs = planTravel(stretches, START_US)
      const risk = calcRisk(legs, new Map(lists.map((list, i) => [`theme ${i}`, timed(list)])))
      let expected = 0
      for (const leg of legs) {
        const steps = 1000
        const walk = walkGeodesic([...leg.from], [...leg.to])
        for (let step = 0; step < steps; step++) {
          const share = (step + 0.5) / steps
          const [x, y] = walk.at(walk.lengthM * share)
          const us = Number(leg.startUs - START_US) + leg.hours * 3.6e9 * share
          for (const list of lists) expected += (levelAt(list, x, y, us) * leg.hours) / steps
        }
      }
      ok(
        Math.abs(risk.total - expected) <= 0.02 * (1 + 10 * risk.hours),
        `${risk.total} instead of ${expected}`,
      )
    }),
    { numRuns: 60 },
  )
})

function levelAt(cells: Cell[], x: number, y: number, us: number): number {
  let highest = 0
  for (const { geometry, level, startUs, endUs } of cells) {
    if (startUs !== null && us < Number(startUs - START_US)) continue
    if (endUs !== null && us >= Number(endUs - START_US)) continue
    const [ring = []] = (geometry as { coordinates: Position[][] }).coordinates
    let isIn = false
    for (let i = 1; i < ring.length; i++) {
      const [[ax, ay], [bx, by]] = [ring[i - 1] as Position, ring[i] as Position]
      if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) isIn = !isIn
    }
    if (isIn) highest = Math.max(highest, level)
  }
  return highest
}
