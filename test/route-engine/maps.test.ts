import { copyFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { dijkstra } from '../../src/api/routing/dijkstra.js'
import type { Settings } from '../../src/config/config.js'
import { isPaged } from '../../src/routing/graph/paged.js'
import { rejectsWith } from '../support/rejects-with.js'
import { openSearch } from '../support/search.js'
import { at, town } from '../support/town.js'

interface Status {
  maps: { name: string; bytes: number }[]
  faults: { file: string; message: string }[]
}

t.test('reload: loads new files, keeps unchanged ones, drops those that are gone', async (t) => {
  const { call, parts, addMap, mapsDir } = openSearch(t, { a: town(3), b: town(3) })
  const before = parts.maps.list()
  t.same(
    before.map((map) => map.name),
    ['a', 'b'],
  )
  rmSync(path.join(mapsDir, 'a.graph'))
  addMap('c', town(4))
  t.same(call('reload', null), { maps: ['b', 'c'], faults: [], baseFaults: [] })
  t.equal(parts.maps.list()[0], before[1], 'the same graph, not loaded again')
  const { generation } = parts.maps.list()[0]?.open() ?? {}
  addMap('b', town(5))
  call('reload', null)
  t.equal(parts.maps.list()[0]?.open().graph.junctionCount, 25)
  t.not(parts.maps.list()[0]?.open().generation, generation)
})

t.test(
  'openMaps: lines of a map stay in its file where routing.mapPageBytes are too few for them',
  async (t) => {
    const isInFile = (t: Test, settings: Settings) => {
      const { parts } = openSearch(t, { a: town(20) }, settings)
      return isPaged(parts.maps.list()[0]!.open().graph.geometry)
    }
    await t.test('by default 16 MiB at least', async (t) => {
      t.notOk(isInFile(t, {}))
    })
    await t.test('a page', async (t) => {
      t.ok(isInFile(t, { routing: { mapPageBytes: 4096 } }))
    })
  },
)

t.test('openMaps: a file that cannot be used is reported as a fault, the others are loaded', async (t) => {
  const { call, mapsDir } = openSearch(t, { a: town(3) })
  writeFileSync(path.join(mapsDir, 'bad.graph'), 'this is no map')
  writeFileSync(path.join(mapsDir, 'notes.txt'), 'not looked at')
  const { maps, faults } = call('reload', null) as unknown as Status
  t.same(maps, ['a'])
  t.match(faults, [{ file: path.join(mapsDir, 'bad.graph'), message: /not a map file/ }])
})

t.test('openMaps: routing.maps names further files; of two with one name the first wins', async (t) => {
  const elsewhere = t.testdir()
  const { mapsDir } = openSearch(t, { a: town(3) })
  const other = path.join(elsewhere, 'other.graph')
  const same = path.join(elsewhere, 'a.graph')
  copyFileSync(path.join(mapsDir, 'a.graph'), other)
  copyFileSync(path.join(mapsDir, 'a.graph'), same)
  const second = {
    testdir: () => path.join(elsewhere, 'second'),
    teardown: (work: () => unknown) => t.teardown(work),
  }
  const { call } = openSearch(
    second,
    { a: town(4) },
    { routing: { maps: [other, same, '/nowhere/x.graph'] } },
  )
  const { maps, faults } = call('status', null) as Status
  t.same(
    maps.map((map) => map.name),
    ['a', 'other'],
  )
  t.match(faults, [
    { file: same, message: /a map with this name is already loaded from/ },
    { file: '/nowhere/x.graph', message: /ENOENT/ },
  ])
})

t.test('openMaps: a map larger than routing.maxMapBytes is refused', async (t) => {
  const { call } = openSearch(t, { a: town(3) }, { routing: { maxMapBytes: 1024 } })
  t.match((call('status', null) as Status).faults, [{ message: /routing\.maxMapBytes allows 1024/ }])
  t.same(call('maps', null), { maps: [] })
})

/** Three maps, of which two fit the memory, and a request for each. */
function openShelf(t: Test) {
  const networks = { a: town(4), b: town(4), c: town(4) }
  const dir = t.testdir()
  const first = openSearch(
    { testdir: () => path.join(dir, 'first'), teardown: (work) => t.teardown(work) },
    networks,
  )
  const bytes = statSync(path.join(first.mapsDir, 'a.graph')).size
  const search = openSearch(
    { testdir: () => path.join(dir, 'second'), teardown: (work) => t.teardown(work) },
    networks,
    { routing: { maxMapBytes: bytes * 2 + 100 } },
  )
  const { maps } = search.parts
  const inMemory = () => maps.list().flatMap((map) => (map.loaded() === undefined ? [] : [map.name]))
  const question = (map: string, themes: object = {}) => ({
    ...{ map, themes, start_lonlat: at(0, 0), goal_lonlat: at(3, 2) },
    start_datetime: '2026-01-01 00:00:00Z',
  })
  const answer = async (map: string, themes?: object) => await search.ask(dijkstra, [question(map, themes)])
  const expected = async (map: string) => await first.ask(dijkstra, [question(map)])
  return { ...search, maps, inMemory, answer, expected }
}

t.test(
  'maps beyond routing.maxMapBytes: those used least recently go, and come back when asked for',
  async (t) => {
    const { maps, inMemory, answer, expected, call } = openShelf(t)
    t.same(inMemory(), ['b', 'c'])
    t.same(
      (call('maps', null) as { maps: { name: string }[] }).maps.map(({ name }) => name),
      ['a', 'b', 'c'],
      'all are listed',
    )
    t.same(call('reload', null), { maps: ['a', 'b', 'c'], faults: [], baseFaults: [] })
    t.same(inMemory(), ['b', 'c'], 'a scan of unchanged files loads none')
    t.same(await answer('a'), await expected('a'))
    t.same(inMemory(), ['a', 'c'])
    t.same(await answer('c'), await expected('c'))
    t.same(await answer('b'), await expected('b'))
    t.same(inMemory(), ['b', 'c'], 'c was used after a')
    const generations = maps.list().map((map) => map.open().generation)
    t.equal(new Set(generations).size, 3)
  },
)

t.test('maps beyond routing.maxMapBytes: profiles and overlays go with their map', async (t) => {
  const { answer, addTheme, putCells, call } = openShelf(t)
  const flood = addTheme('flood')
  await putCells(flood, [{ box: [10.001, 49.999, 10.002, 50.001], risk: 5 }])
  const sensitivity = [0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0]
  const stats = () => call('status', null) as { profileCount: number; overlayCount: number }
  await answer('a', { flood: sensitivity })
  await answer('b', { flood: sensitivity })
  t.match(stats(), { profileCount: 2, overlayCount: 2 })
  await answer('c')
  t.match(stats(), { profileCount: 2, overlayCount: 1 }, 'those of a are forgotten; c has one without risk')
  await answer('a', { flood: sensitivity })
  t.match(stats(), { profileCount: 2, overlayCount: 1 }, 'those of b are forgotten, and a has new ones')
})

t.test('maps beyond routing.maxMapBytes: a file that changed or went meanwhile is refused', async (t) => {
  const { answer, addMap, mapsDir, maps, call, inMemory } = openShelf(t)
  addMap('a', town(5))
  await rejectsWith(t, answer('a'), 'UNKNOWN_MAP')
  t.same(inMemory(), ['b', 'c'], 'nothing made room for it')
  call('reload', null)
  t.equal((await answer('a')).geojson.type, 'FeatureCollection')
  const away = maps.list().find((map) => map.loaded() === undefined)
  const file = path.join(mapsDir, `${away?.name}.graph`)
  truncateSync(file, 100)
  await rejectsWith(t, answer(`${away?.name}`), 'UNKNOWN_MAP')
  rmSync(file)
  await rejectsWith(t, answer(`${away?.name}`), 'UNKNOWN_MAP')
})
