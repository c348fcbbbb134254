import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { Graph } from '../../../src/routing/graph/graph.js'
import { createProfile } from '../../../src/routing/search/profile.js'
import type { AreaPolygon } from '../../../src/routing/search/road-area.js'
import { countNoFurther } from '../../support/count-no-further.js'
import { FINE, faultsOfArea, insideTest, isochronesOf, placeOn } from '../../support/isochrones.js'
import { reachAll } from '../../support/reached-samples.js'
import { missingPorto, portoGraph } from '../../support/real-map.js'
import { missing } from '../../support/tools.js'

t.test('Porto: areas hold all roads that are reached, and are valid', { skip: missingPorto }, async (t) => {
  const graph = await portoGraph()
  const profile = createProfile(graph)
  const center: [number, number] = [-8.61, 41.15]
  const limits = [60_000, 300_000, 900_000]
  const areas = isochronesOf(profile, center, limits)
  countNoFurther()
  const costs = junctionCosts(graph, reachAll(profile, placeOn(graph, center)))
  for (const [i, limitMs] of limits.entries()) {
    const area = areas[i]!
    t.equal(area.junctionCount, costs.filter((ms) => ms <= limitMs).length)
    const { reached, ...faults } = faultsOfArea(profile, center, limitMs, area)
    t.ok(reached > 20, `${reached} places within ${limitMs} ms`)
    t.same(faults, FINE, `${limitMs} ms`)
  }
  await t.test('GDAL finds them valid', { skip: missingValidity() }, async (t) => {
    for (const { polygons } of areas) t.equal(validity(t.testdir(), polygons), true)
  })
  const isInside = insideTest(areas[2]!.polygons, graph)
  // west of the bridge Dom Luís I, and beside the old wall: more than 200 m of water between two quays
  const douro = [[-8.625, 41.1435], [-8.62, 41.1405], [-8.6115, 41.1395]] as const // biome-ignore format: places
  for (const [lng, lat] of douro) t.equal(isInside(lng, lat), false, `${lng} ${lat} is water`)
})

function junctionCosts(graph: Graph, nodeMs: readonly number[]): number[] {
  const costs: number[] = new Array(graph.junctionCount).fill(Number.POSITIVE_INFINITY)
  for (let node = 0; node < graph.nodeCount; node++) {
    const junction = graph.nodeJunction[node]!
    costs[junction] = Math.min(costs[junction]!, nodeMs[node]!)
  }
  return costs
}

/** Reason to skip: `ogrinfo` is missing, or was built without the library that checks geometry. */
function missingValidity(): string | false {
  if (missing('ogrinfo') !== false) return missing('ogrinfo')
  try {
    validity(t.testdir(), [[[[0, 0], [1, 0], [0, 1], [0, 0]]]]) // biome-ignore format: a triangle
    return false
  } catch {
    return 'ogrinfo was built without SpatiaLite'
  }
}

/** What GDAL says of polygons: ST_IsValid of SpatiaLite. */
function validity(directory: string, coordinates: readonly AreaPolygon[]): boolean {
  const file = path.join(directory, 'area.json')
  const feature = { type: 'Feature', properties: {}, geometry: { type: 'MultiPolygon', coordinates } }
  writeFileSync(file, JSON.stringify({ type: 'FeatureCollection', features: [feature] }))
  const sql = 'SELECT ST_IsValid(geometry) AS valid FROM area'
  const text = execFileSync('ogrinfo', ['-q', '-dialect', 'sqlite', '-sql', sql, file], { encoding: 'utf8' })
  const [, found] = /valid \(Integer\) = (\d)/.exec(text) ?? []
  if (found === undefined) throw new Error(`ogrinfo answered ${text}`)
  return found === '1'
}
