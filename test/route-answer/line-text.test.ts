import fc from 'fast-check'
import t from 'tap'
import { writePolyline6 } from '../../src/route-answer/line-text.js'
import { ALL_LINKS } from '../support/routes.js'
import { askText, at, town } from '../support/town.js'

/** Decodes a polyline with arithmetic of its own. @returns [lng, lat] in 1e-6 degree */
function decode(text: string): [number, number][] {
  const values: number[] = []
  let [value, scale] = [0, 1]
  for (const char of text) {
    const chunk = char.charCodeAt(0) - 63
    value += (chunk % 32) * scale
    scale *= 32
    if (chunk >= 32) continue
    values.push(value % 2 === 1 ? -(value + 1) / 2 : value / 2)
    value = 0
    scale = 1
  }
  const points: [number, number][] = []
  for (let i = 0; i < values.length; i += 2) {
    const [lng, lat] = points.at(-1) ?? [0, 0]
    points.push([lng + (values[i + 1] ?? 0), lat + (values[i] ?? 0)])
  }
  return points
}

function encode(positions: readonly (readonly [number, number])[]): string {
  const bytes = new Uint8Array(positions.length * 32)
  const end = writePolyline6(bytes, 0, Int32Array.from(positions.flat()), positions.length * 2)
  return JSON.parse(`"${new TextDecoder().decode(bytes.subarray(0, end))}"`)
}

t.test('writePolyline6: the example of the format, at its precision', async (t) => {
  // (38.5, -120.2), (40.7, -120.95), (43.252, -126.453): the published text is of precision 5
  const tenth: [number, number][] = [
    [-120_200_000, 38_500_000],
    [-120_950_000, 40_700_000],
    [-126_453_000, 43_252_000],
  ]
  t.equal(encode(tenth), '_p~iF~ps|U_ulLnnqC_mqNvxq`@')
})

t.test('property: writePolyline6 decodes to the positions, rounded to 1e-6 degree', async () => {
  const lng = fc.integer({ min: -1_800_000_000, max: 1_800_000_000 })
  const lat = fc.integer({ min: -900_000_000, max: 900_000_000 })
  fc.assert(
    fc.property(fc.array(fc.tuple(lng, lat), { maxLength: 30 }), (positions) => {
      const found = decode(encode(positions))
      return (
        found.length === positions.length &&
        found.every((point, i) =>
          point.every((value, axis) => Math.abs(value * 10 - (positions[i]?.[axis] ?? 0)) <= 5),
        )
      )
    }),
  )
})

interface Features {
  features: {
    geometry: { coordinates: [number, number][] } | null
    properties: Record<string, number | string>
  }[]
}

t.test('route shapes: polylines hold the lines of GeoJSON, legs those of their links', async (t) => {
  const points = [at(0.3, 0), at(1, 2), at(1, 2), at(3.2, 4)]
  const asked = (wishes: Parameters<typeof askText>[1]['wishes']) =>
    JSON.parse(askText(town(), { points, wishes: { alternatives: 2, ...wishes } })) as {
      geojson: Features
      alternatives: { geojson: Features }[]
    }
  const routes = (answer: ReturnType<typeof asked>) => [
    answer.geojson,
    ...answer.alternatives.map((one) => one.geojson),
  ]
  const plain = routes(asked({}))
  t.same(plain, routes(asked({ shape: ALL_LINKS })))
  const packed = routes(asked({ shape: { geometry: 'polyline6', perArc: true } }))
  const legs = routes(asked({ shape: { geometry: 'geojson', perArc: false } }))
  const packedLegs = routes(asked({ shape: { geometry: 'polyline6', perArc: false } }))
  const bareLegs = routes(asked({ shape: { geometry: 'none', perArc: false } }))
  t.equal(plain.length, 2)
  for (const [i, { features }] of plain.entries()) {
    const lines = features.map(({ geometry }) => geometry?.coordinates ?? [])
    const rounded = (line: [number, number][]) =>
      line.map((point) => point.map((value) => Math.round(value * 1e6)))
    t.same(
      packed[i]?.features.map(({ properties }) => decode(String(properties.polyline6))),
      lines.map(rounded),
    )
    const ofLegs = legs[i]?.features ?? []
    t.same(
      ofLegs.map(({ properties }) => properties.leg),
      [0, 2],
      'the leg between two equal points has no link',
    )
    const length = (of: Features['features']) =>
      of.reduce((sum, { properties }) => sum + Math.round(Number(properties.length) * 1000), 0)
    t.equal(length(ofLegs), length(features))
    const joined = lines.flat().filter((point, at, all) => at === 0 || `${point}` !== `${all[at - 1]}`)
    const joinedLegs = ofLegs
      .flatMap(({ geometry }) => geometry?.coordinates ?? [])
      .filter((point, at, all) => at === 0 || `${point}` !== `${all[at - 1]}`)
    t.same(joinedLegs, joined)
    t.same(
      packedLegs[i]?.features.map(({ properties }) => decode(String(properties.polyline6))),
      ofLegs.map(({ geometry }) => rounded(geometry?.coordinates ?? [])),
    )
    t.same(
      bareLegs[i]?.features,
      ofLegs.map((feature) => ({ ...feature, geometry: null })),
    )
  }
})
