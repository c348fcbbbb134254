import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

const MODULE = pathToFileURL(path.resolve('scripts/pictures/draw-scaling.mjs')).href

interface Drawing {
  slopeOf(points: readonly (readonly [number, number])[]): number
  drawScaling(rows: readonly object[], figures: Record<string, readonly [string, string]>): string
}

t.test('slopeOf: the exponent of a power', async (t) => {
  const { slopeOf } = (await import(MODULE)) as Drawing
  const powers = [0, 0.5, 1, 2]
  for (const power of powers) {
    const found = slopeOf([1, 5, 20, 60].map((x) => [x * 62_000, 3 * x ** power]))
    t.ok(Math.abs(found - power) < 1e-9, `${power}: ${found}`)
  }
})

t.test('drawScaling: a chart for each figure, with each value and the slope', async (t) => {
  const { drawScaling } = (await import(MODULE)) as Drawing
  const rows = [
    { nodes: 1000, s: 2, mb: 111 },
    { nodes: 5000, s: 10, mb: 111 },
  ]
  const svg = drawScaling(rows, { s: ['map build', 's'], mb: ['RSS', 'MB'] })
  t.match(svg, /^<svg [^>]+>/)
  t.match(svg, /map build<.*s, nodes \^ 1\.00/)
  t.match(svg, /RSS<.*MB, nodes \^ 0\.00/)
  t.equal(svg.match(/<circle/g)?.length, 4)
  t.match(svg, />10<\/text>/)
  t.notMatch(svg, /NaN|undefined/)
})
