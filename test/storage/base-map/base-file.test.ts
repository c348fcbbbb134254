import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { isAppError } from '../../../src/errors.js'
import { openBaseFile } from '../../../src/storage/base-map/read.js'
import { baseOf, createPlot } from '../../support/base-maps.js'
import { mutants } from '../../support/mutants.js'
import { readVectorTile } from '../../support/vector-tiles.js'

function places() {
  const plot = createPlot()
  const place = (name: string, kind: string, extra: Record<string, string> = {}) =>
    plot.node(plot.data().nodes.length * 10, 0, { place: kind, name, ...extra })
  place('São João', 'hamlet')
  place('Porto', 'hamlet')
  place('Porto', 'city', { population: '231800', 'name:ja': 'ポルト' })
  place('Portalegre', 'town', { population: '15000' })
  place('Vila do Porto', 'village')
  place('東京', 'city', { 'name:en': 'Tokyo' })
  plot.way([plot.node(0, 500), plot.node(300, 500)], { highway: 'residential', name: 'Rua do Porto' })
  plot.way([plot.node(0, 20_000), plot.node(300, 20_000)], { highway: 'residential', name: 'Rua do Porto' })
  plot.box(400, 400, 500, { natural: 'water', name: 'Lagoa' })
  return plot.data()
}

async function open(t: Test) {
  const { file, dir } = await baseOf(t, places())
  const base = openBaseFile(file)
  t.teardown(() => base.close())
  return { base, file, dir }
}

const refusal = (file: string): string => {
  try {
    openBaseFile(file).close()
    return 'opened'
  } catch (error) {
    return isAppError(error) && error.errorName === 'BAD_BASE_MAP' ? error.message : `other: ${String(error)}`
  }
}

t.test(
  'openBaseFile: metadata and tiles; equal tiles have equal tags, an empty one is undefined',
  async (t) => {
    const { base } = await open(t)
    t.match(base, {
      minZoom: 6,
      maxZoom: 14,
      meta: { name: 'plot', attribution: '© OpenStreetMap contributors' },
    })
    t.ok(base.meta.layers.some(({ id }) => id === 'place_labels'))
    t.equal(base.tile(0, 0, 0), undefined)
    const [x, y] = [Math.floor((190 / 360) * 64), 23]
    const tile = base.tile(6, x, y)
    t.match(tile?.tag, /^[0-9a-f]{24}$/)
    t.ok(readVectorTile(gunzipSync(tile!.packed)).place_labels)
    t.same(base.check(), [])
  },
)

t.test(
  'findPlaces: by the beginning of a name or a word, whatever accents and capitals, the best first',
  async (t) => {
    const { base } = await open(t)
    const names = (text: string, limit = 10) =>
      base.findPlaces(text, limit).map(({ name, kind }) => `${name} ${kind}`)
    t.same(names('PÓRTO'), [
      'Porto city',
      'Porto hamlet',
      'Vila do Porto village',
      'Rua do Porto street',
      'Rua do Porto street',
    ])
    t.same(names('port', 2), ['Porto city', 'Portalegre town'])
    t.same(names('sao j'), ['São João hamlet'])
    t.same(names('京'), ['東京 city'])
    t.same(names('toky'), ['東京 city'])
    t.same(names('ぽると'), ['Porto city'], 'a further name, in the other kana')
    t.same(names('lagoa'), ['Lagoa water'])
    t.same(names('orto'), [], 'not inside a word')
    t.same(names(' ,'), [])
    t.same(names("'; DROP TABLE places; --"), [])
    const [city] = base.findPlaces('tokyo', 1)
    t.match(city, { name: '東京', latin: 'Tokyo', population: 0 })
    const streets = base.findPlaces('rua', 10)
    t.ok(
      streets.every(({ west, east }) => east > west),
      'a street has a box',
    )
  },
)

t.test('openBaseFile: other files are refused with the reason', async (t) => {
  const { dir, file } = await open(t)
  const other = path.join(dir, 'other.mbtiles')
  writeFileSync(other, '{"type": "FeatureCollection"}')
  t.match(refusal(other), /no MBTiles file: it begins with "\{/)
  writeFileSync(other, '')
  t.match(refusal(other), /no MBTiles file/)
  copyFileSync(file, other)
  truncateSync(other, readFileSync(file).length - 4096)
  t.match(refusal(other), /cut short/)
  const change = (sql: string) => {
    copyFileSync(file, other)
    const db = new Database(other)
    db.exec(sql)
    db.close()
  }
  change('PRAGMA application_id = 1')
  t.match(refusal(other), /application id/)
  change("DELETE FROM metadata WHERE name = 'fieldgate'")
  t.match(refusal(other), /not made by `fieldgate map build --base`/)
  change('PRAGMA user_version = 99')
  t.match(refusal(other), /version 99, this program reads up to 1/)
  change("UPDATE metadata SET value = '{}' WHERE name = 'fieldgate'")
  t.match(refusal(other), /metadata are damaged/)
  change("UPDATE metadata SET value = '{' WHERE name = 'fieldgate'")
  t.match(refusal(other), /cannot be read/)
  change('DROP TABLE place_keys')
  t.match(refusal(other), /cannot be read \(no such table: place_keys\)/)
})

t.test('openBaseFile: damaged files are refused, or answer what they can', async (t) => {
  const { file, dir } = await open(t)
  const bytes = readFileSync(file)
  const other = path.join(dir, 'mutant.mbtiles')
  let seen = 0
  for (const { bytes: mutant, what } of mutants(bytes, 150, 7)) {
    writeFileSync(other, mutant)
    try {
      const base = openBaseFile(other)
      try {
        base.findPlaces('porto', 10)
        for (let y = 0; y < 64; y++) base.tile(6, 33, y)
        base.check()
      } finally {
        base.close()
      }
    } catch (error) {
      seen++
      if (!(isAppError(error) && error.errorName === 'BAD_BASE_MAP')) t.fail(`${what}: ${String(error)}`)
    }
  }
  t.ok(seen > 20)
})
