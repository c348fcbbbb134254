import t from 'tap'
import { strokesOf } from '../../../src/console/map/live-strokes.js'
import type { RouteLine } from '../../../src/console/map/route/along.js'
import { riskColour } from '../../../src/console/map/state.js'

const GROUND = { route: '#route', halo: '#halo', width: 100, height: 80 }
/** Ten pixels to a degree, north above. */
const project = ([lng, lat]: [number, number]) => ({ x: lng * 10, y: 80 - lat * 10 })

function lineOf(coordinates: [number, number][], properties: Record<string, unknown> = {}): RouteLine {
  return { type: 'Feature', geometry: { type: 'LineString', coordinates }, properties }
}

t.test('strokesOf: a route that is not chosen is a halo and a line of its colour', async (t) => {
  const line = lineOf(
    [
      [1, 1],
      [3, 1],
    ],
    { colour: '#0000ff', risk: 10 },
  )
  const { strokes } = strokesOf([{ lines: [line], isChosen: false }], project, GROUND)
  t.same(strokes, [
    { lines: [[10, 70, 30, 70]], colour: '#halo', width: 8 },
    { lines: [[10, 70, 30, 70]], colour: '#0000ff', width: 5 },
  ])
})

t.test('strokesOf: the chosen route has a casing, and one stroke for each colour of its risk', async (t) => {
  const lines = [0, 7, 0].map((risk, i) =>
    lineOf(
      [
        [i, 0],
        [i + 1, 0],
      ],
      { risk },
    ),
  )
  const { strokes } = strokesOf([{ lines, isChosen: true }], project, GROUND)
  const whole = [
    [0, 80, 10, 80],
    [10, 80, 20, 80],
    [20, 80, 30, 80],
  ]
  t.same(strokes, [
    { lines: whole, colour: '#halo', width: 12 },
    { lines: whole, colour: '#route', width: 9 },
    { lines: [whole[0], whole[2]], colour: riskColour(0), width: 5 },
    { lines: [whole[1]], colour: riskColour(7), width: 5 },
  ])
})

t.test('strokesOf: corners within a pixel of the one before are left out, the end stays', async (t) => {
  const line = lineOf([
    [0, 0],
    [0.05, 0],
    [0.2, 0],
    [0.21, 0],
    [0.22, 0],
  ])
  const { strokes } = strokesOf([{ lines: [line], isChosen: false }], project, GROUND)
  t.same(strokes[1]?.lines, [[0, 80, 2, 80, 2.2, 80]])
})

t.test('strokesOf: the box holds the width of the lines, and ends with the map', async (t) => {
  const inside = lineOf([
    [4, 4],
    [5, 4],
  ])
  const other = { lines: [inside], isChosen: false }
  t.same(strokesOf([other], project, GROUND).box, [35, 35, 55, 45])
  const beyond = lineOf([
    [-50, 4],
    [200, 90],
  ])
  t.same(strokesOf([other, { lines: [beyond], isChosen: true }], project, GROUND).box, [0, 0, 100, 47])
})

t.test('strokesOf: what is not visible has a box without a size', async (t) => {
  const away = lineOf([
    [-50, -50],
    [-40, -50],
  ])
  const [left, top, right, bottom] = strokesOf([{ lines: [away], isChosen: true }], project, GROUND).box
  t.equal(right - left, 0)
  t.ok(bottom >= top)
  const none = strokesOf([], project, GROUND)
  t.same(none.strokes, [])
  t.equal(none.box[2] - none.box[0], 0)
})
