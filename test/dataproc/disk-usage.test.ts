import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { diskUsage, removeTree } from '../../src/dataproc/disk-usage.js'

t.test('disk usage: bytes without holes and links, Infinity for trees that are too deep', async (t) => {
  const dir = t.testdir({ a: { b: 'x'.repeat(10_000) } })
  symlinkSync('/', path.join(dir, 'up'))
  const { bytes, files } = await diskUsage([dir, path.join(dir, 'not there')])
  t.equal(files, 3)
  t.ok(bytes >= 10_000 && bytes < 100_000, `${bytes}`)
  let deep = path.join(dir, 'deep')
  for (let level = 0; level < 70; level++) deep = path.join(deep, 'd')
  mkdirSync(deep, { recursive: true })
  t.equal((await diskUsage([dir])).files, Number.POSITIVE_INFINITY)
})

t.test('removeTree: follows no link, and is not stopped by modes', async (t) => {
  const dir = t.testdir({ kept: { file: 'x' }, gone: { locked: { file: 'y' } } })
  symlinkSync(path.join(dir, 'kept'), path.join(dir, 'gone/link'))
  chmodSync(path.join(dir, 'gone/locked'), 0)
  await removeTree(path.join(dir, 'gone'))
  await removeTree(path.join(dir, 'gone'))
  t.notOk(existsSync(path.join(dir, 'gone')))
  t.equal(readFileSync(path.join(dir, 'kept/file'), 'utf8'), 'x')
})
