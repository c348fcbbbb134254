import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { findPlaces } from '../../../src/api/routing/find-places.js'
import { listMaps } from '../../../src/api/routing/list-maps.js'
import { baseOf, createPlot } from '../../support/base-maps.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { openSearch } from '../../support/search.js'
import { town } from '../../support/town.js'

async function open(t: Test) {
  const plot = createPlot()
  plot.node(0, 0, { place: 'city', name: '東京', 'name:en': 'Tokyo', population: '13000000' })
  plot.node(0, 900, { place: 'village', name: 'Tókyo Nova' })
  const { file } = await baseOf(t, plot.data())
  const search = openSearch(t, { a: town(3), b: town(3), c: town(3) })
  const baseAt = (map: string) => path.join(search.mapsDir, `${map}.mbtiles`)
  copyFileSync(file, baseAt('a'))
  search.call('reload', null)
  return { ...search, file, baseAt }
}

t.test('routing.find_places: names, both scripts, place and box; from one map or all', async (t) => {
  const { ask, call, file, baseAt } = await open(t)
  const city = {
    name: '東京',
    name_latin: 'Tokyo',
    kind: 'city',
    population: 13_000_000,
    lonlat: [10, 45],
    bbox: [10, 45, 10, 45],
    map: 'a',
  }
  t.same(await ask(findPlaces, [{ text: 'TOKYO', limit: 1 }]), { places: [city] })
  t.match(await ask(findPlaces, [{ text: 'tokyo', map: 'a' }]), {
    places: [city, { name: 'Tókyo Nova', name_latin: null, population: null }],
  })
  t.same(await ask(findPlaces, [{ text: 'x' }]), { places: [] })
  copyFileSync(file, baseAt('b'))
  call('reload', null)
  const both = (await ask(findPlaces, [{ text: 'tok' }])) as { places: { map: string; kind: string }[] }
  t.same(
    both.places.map(({ map, kind }) => `${map} ${kind}`),
    ['a city', 'b city', 'a village', 'b village'],
  )
})

t.test('routing.find_places: refusals', async (t) => {
  const { ask, baseAt, call } = await open(t)
  await rejectsWith(t, ask(findPlaces, [{ text: 'x', map: 'none' }]), 'UNKNOWN_MAP')
  await rejectsWith(t, ask(findPlaces, [{ text: 'x', map: 'b' }]), 'NO_BASE_MAP', { message: /map "b"/ })
  await rejectsWith(t, ask(findPlaces, [{ text: '' }]), 'INVALID_PARAMS')
  await rejectsWith(t, ask(findPlaces, [{ text: 'x', limit: 51 }]), 'INVALID_PARAMS')
  rmSync(baseAt('a'))
  call('reload', null)
  await rejectsWith(t, ask(findPlaces, [{ text: 'x' }]), 'NO_BASE_MAP', { message: /no map with a base map/ })
})

t.test(
  'base maps: loaded, kept and dropped with their files; one that cannot be used leaves its map',
  async (t) => {
    const { ask, baseAt, call, parts, file } = await open(t)
    const first = parts.maps.bases.find('a')
    call('reload', null)
    t.equal(parts.maps.bases.find('a'), first, 'an unchanged file is kept open')
    type Listed = { maps: { name: string; base: unknown; base_fault: string | null }[] }
    t.match(await ask(listMaps, [{}]), {
      maps: [
        { name: 'a', base: { minzoom: 6, maxzoom: 14, bytes: Number, built_from: { file: 'plot.osm.pbf' } } },
        { name: 'b', base: null, base_fault: null },
        { name: 'c' },
      ],
    })
    writeFileSync(baseAt('b'), 'no tiles')
    copyFileSync(file, baseAt('c'))
    rmSync(baseAt('a'))
    t.match(call('reload', null), {
      maps: ['a', 'b', 'c'],
      faults: [],
      baseFaults: [{ file: baseAt('b'), message: /no MBTiles file/ }],
    })
    const { maps } = (await ask(listMaps, [{}])) as Listed
    t.same(
      maps.map(({ base }) => base !== null),
      [false, false, true],
    )
    t.match(maps[1]?.base_fault, /no MBTiles file/)
  },
)

t.test('base maps: damage inside a file refuses what lies there', async (t) => {
  const { baseAt, call, ask } = await open(t)
  const bytes = readFileSync(baseAt('a'))
  // all pages behind the first hold rows or indexes: the schema, in the first, stays
  bytes.fill(0xff, 4096 * 3)
  writeFileSync(baseAt('a'), bytes)
  call('reload', null)
  const refused = [ask(findPlaces, [{ text: 'tokyo', map: 'a' }])]
  const names = await Promise.all(
    refused.map((each) =>
      each.then(
        () => 'answered',
        (error) => error.errorName,
      ),
    ),
  )
  t.ok(
    names.every((name) => name === 'BAD_BASE_MAP' || name === 'NO_BASE_MAP'),
    names.join(),
  )
})
