import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { diskUsage, removeTree } from '../../src/dataproc/disk-usage.js'
import { makeDataprocLayout } from '../../src/dataproc/layout.js'
import { readProcesses } from '../../src/dataproc/process-table.js'
import { createRunLogs } from '../../src/dataproc/run-log.js'
import { createSlots } from '../../src/dataproc/slots.js'
import { rejectsWith } from '../support/rejects-with.js'

t.test('slots: so many at once, the rest in their order, and no more than may wait', async (t) => {
  const slots = createSlots(1, 2)
  const stay = new AbortController()
  const leave = new AbortController()
  const first = await slots.take(stay.signal)
  const order: string[] = []
  const second = slots.take(stay.signal).then((back) => {
    order.push('second')
    return back
  })
  const gone = slots.take(leave.signal)
  await rejectsWith(t, slots.take(stay.signal), 'BUSY')
  leave.abort()
  await rejectsWith(t, gone, 'CANCELLED')
  const third = slots.take(stay.signal).then((back) => {
    order.push('third')
    return back
  })
  t.equal(slots.waiting(), 2)
  first()
  first() // again is nothing
  const back = await second
  t.same(order, ['second'])
  back()
  const last = await third
  last()
  const free = await slots.take(stay.signal)
  free()
  await rejectsWith(t, slots.take(leave.signal), 'CANCELLED')
})

t.test(
  'disk usage: what lies there, holes and links left out, and what is too much to look at',
  async (t) => {
    const dir = t.testdir({ a: { b: 'x'.repeat(10_000) } })
    symlinkSync('/', path.join(dir, 'up'))
    const { bytes, files } = await diskUsage([dir, path.join(dir, 'not there')])
    t.equal(files, 3)
    t.ok(bytes >= 10_000 && bytes < 100_000, `${bytes}`)
    let deep = path.join(dir, 'deep')
    for (let level = 0; level < 70; level++) deep = path.join(deep, 'd')
    mkdirSync(deep, { recursive: true })
    t.equal((await diskUsage([dir])).files, Number.POSITIVE_INFINITY)
  },
)

t.test('removeTree: follows no link, and is not stopped by modes', async (t) => {
  const dir = t.testdir({ kept: { file: 'x' }, gone: { locked: { file: 'y' } } })
  symlinkSync(path.join(dir, 'kept'), path.join(dir, 'gone/link'))
  chmodSync(path.join(dir, 'gone/locked'), 0)
  await removeTree(path.join(dir, 'gone'))
  await removeTree(path.join(dir, 'gone'))
  t.notOk(existsSync(path.join(dir, 'gone')))
  t.equal(readFileSync(path.join(dir, 'kept/file'), 'utf8'), 'x')
})

t.test('run logs: bounded by their number and by their bytes, the newest stay', async (t) => {
  const dir = t.testdir()
  const layout = makeDataprocLayout(path.join(dir, 'dataproc'), path.join(dir, 'modules'))
  const write = async (limits: { maxRuns: number; maxBytes: number }, at: number, bytes: number) => {
    const log = await createRunLogs(layout, limits).open(at, `00000000-0000-4000-8000-00000000000${at}`)
    log.print('stdout', new TextEncoder().encode('o'.repeat(bytes)))
    log.print('stderr', new TextEncoder().encode(`a\u001b[31mred\r\nlast\n`))
    t.equal(log.lastLines(), 'a\uFFFD[31mred\nlast')
    await log.close({ at })
  }
  for (const at of [1, 2, 3, 4]) await write({ maxRuns: 3, maxBytes: 1e9 }, at, 1000)
  t.same(
    readdirSync(layout.logsDir).map((name) => name.at(-1)),
    ['2', '3', '4'],
  )
  await write({ maxRuns: 3, maxBytes: 2500 }, 5, 1000)
  t.same(
    readdirSync(layout.logsDir).map((name) => name.at(-1)),
    ['4', '5'],
  )
  await write({ maxRuns: 3, maxBytes: 2500 }, 6, 9000)
  t.same(
    readdirSync(layout.logsDir).map((name) => name.at(-1)),
    ['6'],
    'the newest stays, however large',
  )
})

t.test('process table: this process with its parent, group and memory', async (t) => {
  const mine = (await readProcesses()).find(({ pid }) => pid === process.pid)
  t.equal(mine?.parentPid, process.ppid)
  const ratio = (mine?.residentBytes ?? 0) / process.memoryUsage.rss()
  t.ok(ratio > 0.5 && ratio < 2, `${ratio}`)
})
