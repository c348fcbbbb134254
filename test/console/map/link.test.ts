import fc from 'fast-check'
import t from 'tap'
import { linkOf, type Question, readLink } from '../../../src/console/map/link.js'
import { initialState, RECORD_TIMES } from '../../../src/console/map/state.js'

const name = fc.string({ minLength: 1, maxLength: 20, unit: 'binary' }).filter((text) => text.isWellFormed())
const time = fc.integer({ min: 0, max: 4e12 })
const coordinate = (most: number) => fc.integer({ min: -most * 1e7, max: most * 1e7 }).map((e7) => e7 / 1e7)
const point = fc.tuple(coordinate(180), coordinate(90))
const curve = fc.array(fc.constantFrom(0, 0.1, 2.5, 9999), { minLength: 11, maxLength: 11 })

/** Questions as the page can make them. */
const question: fc.Arbitrary<Question> = fc.record({
  mapName: fc.option(name, { nil: undefined }),
  points: fc.array(point, { maxLength: 6 }),
  themes: fc.array(fc.tuple(name, curve), { maxLength: 3 }).map((pairs) => new Map(pairs)),
  events: fc.array(name, { maxLength: 3 }).map((names) => new Set(names)),
  atMs: time,
  brushMs: fc.option(
    fc
      .tuple(time, fc.integer({ min: 1, max: 1e9 }))
      .map(([from, ms]) => [from, from + ms] as [number, number]),
    { nil: undefined },
  ),
  recordTimes: fc.constantFrom(...RECORD_TIMES),
  degree: fc.nat(5),
  reorder: fc.boolean(),
  timeDependent: fc.boolean(),
  alternatives: fc.integer({ min: 1, max: 5 }),
  chosen: fc.constantFrom('around', 'fastest', '1', '4'),
  colourBy: fc.option(name, { nil: undefined }),
  recordFilter: fc.option(
    fc.record({
      column: fc.constantFrom('mm', 'kind of it', 'a=b'),
      operator: fc.constantFrom('=', '<>', '>=', 'like'),
      value: fc.constantFrom('', '5', 'two words', '雨'),
    }),
    { nil: undefined },
  ),
  minutes: fc.option(fc.array(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 10 }), {
    nil: undefined,
  }),
  camera: fc.constant(undefined),
})

t.test('property: a link restores the question that it was made of', async () => {
  fc.assert(
    fc.property(question, (asked) => {
      const opened = { ...initialState(), ...readLink(linkOf(asked, true)) }
      for (const key of Object.keys(asked) as (keyof Question)[])
        if (!same(opened[key], asked[key])) throw new Error(`${key}: ${JSON.stringify(opened[key])}`)
    }),
    { numRuns: 500 },
  )
})

function same(a: unknown, b: unknown): boolean {
  const plain = (value: unknown) => (value instanceof Map || value instanceof Set ? [...value] : value)
  return JSON.stringify(plain(a)) === JSON.stringify(plain(b))
}

t.test('link: points and times stay readable, and an initial question is short', async (t) => {
  const state = initialState()
  t.equal(linkOf(state, false), '')
  state.points = [
    [10, 50.006],
    [10.012, 50.006],
  ]
  state.atMs = Date.parse('2026-01-01T10:00:00Z')
  t.equal(linkOf(state, true), 'points=10,50.006;10.012,50.006&at=2026-01-01T10:00:00.000Z')
  const { camera } = readLink(linkOf({ ...state, camera: { center: [1.5, -2.25], zoom: 12.5 } }, true))
  t.same(camera, { center: [1.5, -2.25], zoom: 12.5 })
})

t.test('link: what is no value of its kind is left out', async (t) => {
  const bad = [
    ['points=1,2;a,b;200,5;3,4,5;,', { points: [[1, 2]] }],
    ['at=yesterday', {}],
    ['theme=flood:1,2&theme=fire:0,0,0,0,0,0,0,0,0,0,-1', { themes: new Map() }],
    ['brush=2026-01-02T00:00:00Z/2026-01-01T00:00:00Z', {}],
    ['records=none&cells=9&routes=0&reorder=2&depart=never&chosen=0', {}],
    ['minutes=0,5', {}],
    ['view=1,2&where=column', {}],
    ['view=1,91,5', {}],
    [`map=${'x'.repeat(300)}`, { mapName: 'x'.repeat(200) }],
  ] as const
  for (const [query, expected] of bad) t.same(readLink(query), expected, query)
})
