import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openSearch } from '../support/search.js'
import { town } from '../support/town.js'

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
  addMap('b', town(5))
  call('reload', null)
  t.equal(parts.maps.list()[0]?.graph.junctionCount, 25)
  t.not(parts.maps.list()[0]?.generation, before[1]?.generation)
})

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
