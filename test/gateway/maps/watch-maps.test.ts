import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { layoutOf } from '../../../src/files/layout.js'
import { watchMaps } from '../../../src/gateway/maps/watch-maps.js'
import { until } from '../../support/manual-timers.js'

/** A watch over a folder of maps, and a listed map outside of it. */
function start(t: Test, reload: () => Promise<void> = async () => undefined) {
  const dir = t.testdir()
  const layout = layoutOf(dir)
  mkdirSync(layout.mapsDir)
  mkdirSync(path.join(dir, 'other'))
  const listed = path.join(dir, 'other', 'listed.graph')
  const told: string[] = []
  let reloads = 0
  const end = watchMaps({
    config: { routing: { maps: [listed, '/none/at/all.graph'] } } as never, // what it reads
    layout,
    maps: {
      reload: async () => {
        reloads++
        await reload()
      },
    },
    log: { info: () => undefined, warn: (_fields: object, text: string) => told.push(text) } as never,
  })
  t.teardown(end)
  const map = (name: string) => path.join(layout.mapsDir, name)
  const settled = () => new Promise((resolve) => setTimeout(resolve, 1300))
  return { dir, listed, map, told, settled, end, reloads: () => reloads }
}

t.test('maps: files that come, change and go are loaded, each once', async (t) => {
  const { dir, listed, map, told, settled, reloads } = start(t)
  t.same(told, ['the folder cannot be watched for maps; SIGHUP loads new ones'], 'the one that is not there')
  writeFileSync(map('a.graph'), 'first')
  for (let part = 0; part < 5; part++) {
    await new Promise((resolve) => setTimeout(resolve, 300))
    writeFileSync(map('a.graph'), 'more', { flag: 'a' })
  }
  t.equal(reloads(), 0, 'a copy that is being written is not loaded')
  await until(() => reloads() === 1)
  writeFileSync(path.join(dir, 'b'), 'second')
  renameSync(path.join(dir, 'b'), map('a.graph'))
  await until(() => reloads() === 2)
  writeFileSync(listed, 'listed')
  await until(() => reloads() === 3)
  writeFileSync(map('note.txt'), 'x')
  writeFileSync(path.join(dir, 'other', 'x.txt'), 'x')
  copyFileSync(map('note.txt'), map('note.txt.part'))
  await settled()
  t.equal(reloads(), 3, 'other files are none of its business')
  rmSync(map('a.graph'))
  await until(() => reloads() === 4)
  writeFileSync(map('none.mbtiles'), 'a base map without a map')
  await settled()
  t.equal(reloads(), 4)
  writeFileSync(listed.replace('.graph', '.mbtiles'), 'a base map')
  await until(() => reloads() === 5)
})

t.test('maps: a load that fails is told, and the next change is loaded; nothing after the end', async (t) => {
  let fails = true
  const found = start(t, async () => {
    if (fails) throw new Error('the thread was ended')
  })
  writeFileSync(found.map('a.graph'), 'a')
  await until(() => found.told.length === 2)
  t.equal(found.told[1], 'changed map files could not be loaded')
  fails = false
  writeFileSync(found.map('a.graph'), 'ab')
  await until(() => found.reloads() === 2)
  found.end()
  writeFileSync(found.map('a.graph'), 'abc')
  await found.settled()
  t.equal(found.reloads(), 2)
})
