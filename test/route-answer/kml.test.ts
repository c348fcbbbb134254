import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { escapeXml } from '../../src/route-answer/kml.js'
import type { ThemeRisk } from '../../src/routing/search/overlay.js'
import { makeGraph } from '../support/make-graph.js'
import { overlayOf } from '../support/random-network.js'
import { missing } from '../support/tools.js'
import { ask, at, town } from '../support/town.js'

const GRAMMAR = 'test/fixtures/kml-2.2-route.rng'

/** A route of three legs through risk of two levels, with names that need escaping. */
function riskyRoute(): { kml: string; points: [number, number][] } {
  const network = town()
  network.roads[0]!.name = 'A <b> & "c" \'d\' ]]> \u0000\ud800'
  const lengthMm = makeGraph(network).segmentLengthMm
  const overlay = overlayOf(new Map([2, 3].map((segment) => [segment, [[lengthMm[segment]!, segment + 2]]])))
  const theme: ThemeRisk = { overlay, sensitivity: new Array(11).fill(0) }
  const points: [number, number][] = [at(0, 0), at(3, 0), at(3, 0), at(4, 0.25)]
  return { kml: ask(network, { points, themes: [theme], wishes: { withKml: true } }).kml ?? '', points }
}

t.test('routeKml: a folder a leg, a line for each run of equal risk, the points, the totals', async (t) => {
  const { kml } = riskyRoute()
  t.equal(kml.match(/<Folder>/g)?.length, 2, 'the leg between equal points has no line')
  t.same(
    kml.match(/<styleUrl>#\w+<\/styleUrl>/g)?.map((text) => text.slice(11, -11)),
    ['risk0', 'risk4', 'risk5', 'risk0', 'start', 'via', 'via', 'goal'],
  )
  t.match(
    kml,
    /<description>Length 0\.\d{3} km\nTime 1 min\nCost with risk 1 min\nHighest risk 5, average 2\.\d\d\n© test</,
  )
  t.match(kml, '<name>A &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos; ]]&gt; \ufffd\ufffd')
})

t.test('routeKml: fits the grammar of KML 2.2', { skip: missing('xmllint') }, async (t) => {
  const { kml } = riskyRoute()
  t.same(lint(t.testdir(), kml), { status: 0 })
  t.equal(
    lint(t.testdir(), ask(town(), { points: [at(1, 1), at(1, 1)], wishes: { withKml: true } }).kml ?? '')
      .status,
    0,
  )
  // the grammar refuses a wrong document
  for (const broken of [
    kml.replace(/(<name>Route<\/name>)\n(<description>[\s\S]*?<\/description>)/, '$2$1'),
    kml.replace('ffd77d2b', '#2b7dd7'),
    kml.replace('<coordinates>10,50 ', '<coordinates>10, 50 '),
    kml.replace('</LineString>', '<x/></LineString>'),
  ]) {
    t.not(broken, kml)
    t.not(lint(t.testdir(), broken).status, 0)
  }
})

t.test('routeKml: GDAL reads its lines and points', { skip: missing('ogrinfo') }, async (t) => {
  const { kml } = riskyRoute()
  const file = path.join(t.testdir(), 'route.kml')
  writeFileSync(file, kml)
  const { status, stdout } = spawnSync('ogrinfo', ['-ro', '-al', '-geom=SUMMARY', file], { encoding: 'utf8' })
  t.equal(status, 0)
  t.equal(stdout.match(/LINESTRING : \d+ points/g)?.length, 4)
  t.equal(stdout.match(/POINT : /g)?.length, 4)
})

t.test('property: any name is well-formed text after escaping', { skip: missing('xmllint') }, async (t) => {
  const names = fc.sample(fc.string({ unit: 'binary', maxLength: 40 }), 300)
  const text = `<x>${names.map((name) => `<y a="${escapeXml(name)}">${escapeXml(name)}</y>`).join('')}</x>`
  const { status } = spawnSync('xmllint', ['--noout', '-'], {
    input: `<?xml version="1.0" encoding="UTF-8"?>${text}`,
  })
  t.equal(status, 0)
})

function lint(dir: string, kml: string): { status: number | null; faults?: string } {
  const file = path.join(dir, 'route.kml')
  writeFileSync(file, kml)
  const { status, stderr } = spawnSync('xmllint', ['--noout', '--relaxng', GRAMMAR, file], {
    encoding: 'utf8',
  })
  return status === 0 ? { status } : { status, faults: stderr.slice(0, 2000) }
}
