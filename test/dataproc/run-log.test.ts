import { readdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeDataprocLayout } from '../../src/dataproc/layout.js'
import { createRunLogs } from '../../src/dataproc/run-log.js'

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
