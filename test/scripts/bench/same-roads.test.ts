import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

type Line = [lng: number, lat: number][]

async function compare(a: Line, b: Line) {
  const script = pathToFileURL(path.resolve('scripts/bench/same-roads.mjs')).href
  const { compareLines } = (await import(script)) as {
    compareLines(a: Line, b: Line): { share: number; onlyA: Line[]; onlyB: Line[] }
  }
  return compareLines(a, b)
}

/** Some 111 m each. */
const STEP = 0.001
const along: Line = [0, 1, 2, 3, 4].map((i) => [0, i * STEP])

t.test('same roads: a line is the same as itself, with other points, too', async (t) => {
  const { share, onlyA, onlyB } = await compare(along, [
    [0, 0],
    [0, 4 * STEP],
  ])
  t.same([share, onlyA, onlyB], [1, [], []])
})

t.test('same roads: the other direction, and the next street, are no same road', async (t) => {
  t.equal((await compare(along, [...along].reverse() as Line)).share, 0)
  const beside = along.map(([lng, lat]): [number, number] => [lng + 0.00005, lat]) // 5.6 m
  t.equal((await compare(along, beside)).share, 0)
  const near = along.map(([lng, lat]): [number, number] => [lng + 0.00001, lat]) // 1.1 m
  t.equal((await compare(along, near)).share, 1)
})

t.test('same roads: the share is by the lengths of both; what only one has is told', async (t) => {
  // leaves after a quarter for a way round of three sides, and is back for the last quarter
  const around: Line = [
    [0, 0],
    [0, STEP],
    [STEP, STEP],
    [STEP, 3 * STEP],
    [0, 3 * STEP],
    [0, 4 * STEP],
  ]
  const { share, onlyA, onlyB } = await compare(along, around)
  t.ok(Math.abs(share - (2 + 2) / (4 + 6)) < 0.01, `${share}`)
  t.same(onlyA, [along.slice(1, 4)])
  t.same(onlyB, [around.slice(1, 5)])
})
