import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { checkDisk } from '../../src/doctor/disk.js'
import type { CheckContext } from '../../src/doctor/finding.js'

const HOUR_US = 3_600_000_000
const NOW_US = 1_800_000_000_000_000
const TB = 1e12

t.test('doctor: how long the disk lasts is told, and is a fault when it is soon', async (t) => {
  const root = t.testdir()
  const stateDb = path.join(root, 'state.db')
  const reusable = { bytes: 0 }
  /** @param days time for which the disk lasts; a petabyte within data.db hides what the disk of the test has */
  const find = async (days: number) => {
    reusable.bytes = 1000 * TB
    const perHour = reusable.bytes / days / 24
    const samples = Array.from({ length: 24 }, (_, at) => ({
      atUs: NOW_US - (at + 1) * HOUR_US,
      freeBytes: reusable.bytes + (at + 1) * perHour,
    }))
    const facts = { diskSamples: async () => ({ samples, reusableBytes: reusable.bytes }) }
    const context = { layout: { root, stateDb }, config: { limits: { diskReserveBytes: 0 } }, nowUs: NOW_US }
    const findings = await checkDisk({ ...context, maintenance: { facts } } as unknown as CheckContext)
    return findings
      .map(({ state, message }) => `${state}: ${message}`)
      .filter((line) => line.includes('it lasts'))
  }
  t.same(await find(30), [], 'without data there are no samples')
  writeFileSync(stateDb, '')
  t.match(await find(30), [/^ok: at the rate of the last 24 h .* it lasts (29|30) days$/])
  t.match(await find(10), [/^warning: .* it lasts (9.9|10.0|10) days$/])
  t.match(await find(1), [/^error: .* it lasts (1.0|0.9) days$/])
  t.match(await find(-10), [/^ok: .* it lasts for years$/])
})
