import t from 'tap'
import { readProcesses } from '../../src/dataproc/process-table.js'

t.test('process table: this process with its parent, group and memory', async (t) => {
  const mine = (await readProcesses()).find(({ pid }) => pid === process.pid)
  t.equal(mine?.parentPid, process.ppid)
  const ratio = (mine?.residentBytes ?? 0) / process.memoryUsage.rss()
  t.ok(ratio > 0.5 && ratio < 2, `${ratio}`)
})
