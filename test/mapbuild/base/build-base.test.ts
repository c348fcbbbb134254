import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { writeExtract } from '../../../src/demo/write-extract.js'
import { isAppError } from '../../../src/errors.js'
import { signedArea2 } from '../../../src/mapbuild/base/shape/nest-rings.js'
import { baseOf, buildFrom, createPlot } from '../../support/base-maps.js'
import { mutants } from '../../support/mutants.js'
import { EXTRACTS, missingExtracts } from '../../support/osm-fixture.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { missing } from '../../support/tools.js'
import { type ReadFeature, tilesOf } from '../../support/vector-tiles.js'

/** A lake with an island, a wood of two ways with a clearing, a building, streets, and places. */
function plot() {
  const plot = createPlot()
  plot.box(0, 0, 400)
  plot.box(100, 100, 100)
  plot.multipolygon(
    [
      [1, 'outer'],
      [2, 'inner'],
    ],
    { natural: 'water', name: 'Lago di Prova' },
  )
  const [a, b, c, d] = [plot.node(600, 0), plot.node(1000, 0), plot.node(1000, 400), plot.node(600, 400)]
  const south = plot.way([d, a, b])
  const north = plot.way([b, c, d])
  plot.box(700, 100, 100)
  plot.multipolygon(
    [
      [south, 'outer'],
      [north, 'outer'],
      [5, 'outer'], // a wrong role: geometry decides
    ],
    { landuse: 'forest' },
  )
  plot.box(500, 500, 20, { building: 'yes' })
  plot.way([plot.node(0, 600), plot.node(500, 600)], {
    highway: 'primary',
    name: 'Via Élite',
    ref: 'SS 1;E 5',
  })
  plot.way([plot.node(500, 600), plot.node(900, 600)], {
    highway: 'primary',
    name: 'Via Élite',
    ref: 'SS 1;E 5',
  })
  plot.way([plot.node(0, 700), plot.node(500, 700)], { highway: 'residential', oneway: 'yes', bridge: 'yes' })
  plot.node(300, 650, {
    place: 'city',
    name: '東京',
    'name:en': 'Tokyo',
    population: '13 000 000',
    capital: 'yes',
  })
  plot.node(350, 650, { place: 'hamlet', name: 'Borgo' })
  return plot
}

/** All features of a layer at a zoom. */
function layerOf(file: string, zoom: number, layer: string): ReadFeature[] {
  return Object.values(tilesOf(file, zoom)).flatMap((layers) => layers[layer] ?? [])
}

t.test('buildBase: multipolygons with holes, whatever their roles; buildings at the last zoom', async (t) => {
  const { file, counts } = await baseOf(t, plot().data())
  t.same(counts, {})
  for (const [layer, kind] of [
    ['water_polygons', 'water'],
    ['land', 'forest'],
  ] as const) {
    const found = layerOf(file, 14, layer)
    t.ok(found.length > 0, layer)
    t.ok(
      found.every(({ properties, type }) => properties.kind === kind && type === 3),
      layer,
    )
    const areas = found.flatMap(({ parts }) => parts.map(signedArea2))
    t.ok(areas.some((area) => area > 0) && areas.some((area) => area < 0), `${layer}: outer rings and holes`)
  }
  t.ok(layerOf(file, 14, 'buildings').length > 0)
  t.same(layerOf(file, 13, 'buildings'), [])
})

t.test('buildBase: streets, their shields, and names in two scripts', async (t) => {
  const { file, places } = await baseOf(t, plot().data())
  const label = layerOf(file, 14, 'street_labels')[0]
  t.same(label?.properties, {
    kind: 'primary',
    name: 'Via Élite',
    ref: 'SS 1\nE 5',
    ref_rows: 2,
    ref_cols: 4,
  })
  t.same(
    layerOf(file, 14, 'streets')
      .map(({ properties }) => JSON.stringify(properties))
      .filter((text, i, all) => all.indexOf(text) === i)
      .sort(),
    ['{"kind":"primary"}', '{"kind":"residential","bridge":true,"oneway":true}'],
  )
  const names = {
    kind: 'capital',
    name: '東京',
    name_en: 'Tokyo',
    name_latin: 'Tokyo',
    population: 13_000_000,
  }
  t.same(
    layerOf(file, 4, 'place_labels').map(({ properties }) => properties),
    [names],
    'a capital from zoom 4 on',
  )
  t.equal(layerOf(file, 11, 'place_labels').length, 2, 'a point is in one tile')
  t.equal(places, 4, 'both ways of a street are one place')
})

t.test(
  'buildBase: the same extract gives the same bytes, in one batch or many, in memory or on disk',
  async (t) => {
    const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')
    const built = await baseOf(t, plot().data())
    const first = digest(built.file)
    const input = path.join(built.dir, 'plot.osm.pbf')
    t.equal(digest((await buildFrom(input, built.dir)).file), first)
    t.equal(digest((await buildFrom(input, built.dir, { batchRefs: 1, arenaBytes: 2000 })).file), first)
    t.same(readdirSync(built.dir).sort(), ['plot.mbtiles', 'plot.osm.pbf'], 'no temporary file is left')
  },
)

t.test('buildBase: what cannot be put together is left out, counted and listed', async (t) => {
  const drawn = createPlot()
  const open = drawn.way([drawn.node(0, 0), drawn.node(500, 0), drawn.node(500, 500)])
  drawn.multipolygon([[open, 'outer']], { natural: 'water' })
  drawn.multipolygon([[99, 'outer']], { landuse: 'forest' })
  const refs = drawn.box(600, 0, 300)
  drawn.way([...refs, 98, refs[0]!], { landuse: 'meadow' })
  const left: string[] = []
  const { counts, tiles } = await baseOf(t, drawn.data(), {
    onLeftOut: (type, id, cause) => left.push(`${type} ${id} ${cause}`),
  })
  t.same(counts, { relationsUnclosed: 1, relationsIncomplete: 1, areasIncomplete: 1 })
  t.same(left, ['relation 1 relationsUnclosed', 'relation 2 relationsIncomplete', 'way 3 areasIncomplete'])
  t.equal(tiles, 0)
})

t.test('buildBase: the sea is an area where the coast closes at the box, else a line', async (t) => {
  const drawn = createPlot()
  // to the east: land in the north, water in the south
  drawn.way([drawn.node(-100, 500), drawn.node(500, 450), drawn.node(1200, 500)], { natural: 'coastline' })
  const bbox = [10, 45, 10 + 1000 / 78_850, 45 + 1000 / 111_130] as const
  const sea = await baseOf(t, drawn.data(), {}, { bbox })
  t.equal(sea.seaFault, undefined)
  t.ok(layerOf(sea.file, 0, 'ocean').length === 0, 'too small to be seen from afar')
  t.ok(layerOf(sea.file, 14, 'ocean').length > 0)
  const cut = createPlot()
  cut.way([cut.node(-100, 500), cut.node(500, 500)], { natural: 'coastline' })
  const line = await baseOf(t, cut.data(), {}, { bbox })
  t.match(line.seaFault, /ends inside/)
  t.same(layerOf(line.file, 14, 'ocean'), [])
  t.match(layerOf(line.file, 14, 'water_lines')[0], { type: 2, properties: { kind: 'coastline' } })
})

t.test('buildBase: only what lies within the area', async (t) => {
  const within = [10 + 550 / 78_850, 44.99, 10.1, 45 + 450 / 111_130] as const
  const { file, places } = await baseOf(t, plot().data(), { within })
  t.same(layerOf(file, 14, 'water_polygons'), [])
  t.ok(layerOf(file, 14, 'land').length > 0)
  t.equal(places, 0)
})

t.test('buildBase: an area across many tiles is whole, and neighbours agree at their border', async (t) => {
  const drawn = createPlot()
  drawn.box(0, 0, 9000, { landuse: 'forest' })
  const { file } = await baseOf(t, drawn.data())
  const tiles = tilesOf(file, 14)
  t.ok(Object.keys(tiles).length >= 30)
  for (const { parts, type } of layerOf(file, 14, 'land')) {
    t.equal(type, 3)
    for (const part of parts) t.ok(part.every((value) => value >= -128 && value <= 4224))
  }
  const full = Object.values(tiles).filter(
    ({ land }) =>
      land?.[0]?.parts[0]?.length === 8 && Math.abs(signedArea2(land[0].parts[0])) === 2 * 4352 ** 2,
  )
  t.ok(full.length >= 6, 'tiles inside are full, with their margin')
})

t.test(
  'buildBase: refused without a node, with a box of half the earth, and when it is stopped',
  async (t) => {
    await rejectsWith(t, baseOf(t, { nodes: [], ways: [] }), 'BAD_EXTRACT', { message: /no node/ })
    const wide = { bbox: [-170, -80, 170, 80] as const }
    await rejectsWith(t, baseOf(t, plot().data(), {}, wide), 'BAD_EXTRACT', {
      message: /--area makes it smaller/,
    })
    const signal = AbortSignal.abort(new Error('stopped'))
    await t.rejects(baseOf(t, plot().data(), { signal }), /stopped/)
  },
)

t.test('buildBase: damaged extracts are refused, or read as another map', async (t) => {
  const bytes = Buffer.from(writeExtract(plot().data()))
  const { dir } = await baseOf(t, bytes)
  const input = path.join(dir, 'mutant.osm.pbf')
  let refused = 0
  for (const { bytes: mutant, what } of mutants(bytes, 150, 20)) {
    writeFileSync(input, mutant)
    const fault = await buildFrom(input, dir).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (fault === undefined) continue
    refused++
    if (!(isAppError(fault) && fault.errorName === 'BAD_EXTRACT')) t.fail(`${what}: ${String(fault)}`)
  }
  t.ok(refused > 50)
})

t.test(
  'buildBase: GDAL reads the file, and its areas are valid',
  { skip: missing('ogrinfo') || missingExtracts() },
  async (t) => {
    const built = await baseOf(t, readFileSync(path.join(EXTRACTS, 'liechtenstein-2015.osm.pbf')))
    const ogr = (...args: string[]) => spawnSync('ogrinfo', ['-q', ...args], { encoding: 'utf8' }).stdout
    t.match(ogr('-so', built.file), /\d: land\n/)
    t.match(
      ogr(built.file, 'place_labels', '-where', "name = 'Vaduz'"),
      /kind \(String\) = (?:town|village|capital)/,
    )
    for (const layer of ['land', 'water_polygons', 'buildings']) {
      const count = (where: string) =>
        /n \(Integer\) = (\d+)/.exec(
          ogr(built.file, '-dialect', 'SQLite', '-sql', `SELECT count(*) AS n FROM ${layer} WHERE ${where}`),
        )?.[1]
      t.ok(Number(count('1 = 1')) > 50, layer)
      t.equal(count('NOT ST_IsValid(geometry)'), '0', layer)
    }
  },
)
