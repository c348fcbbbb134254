import t, { type Test } from 'tap'
import { startRecheck } from '../../../src/gateway/health/recheck.js'
import { createLog } from '../../../src/log.js'
import { until } from '../../support/models.js'

/** Faults of a disk that a test reports itself. */
function createFaults(isDamaged: boolean) {
  let listener = (): void => undefined
  let damages = 0
  const faults = {
    isDamaged: () => isDamaged,
    mayBeRow: () => false,
    damages: () => damages,
    onDamage: (next: () => void) => {
      listener = next
    },
    withdraw: () => {
      isDamaged = false
    },
  }
  const meet = () => {
    isDamaged = true
    damages++
    listener()
  }
  return { faults, meet }
}

function started(t: Test, find: (round: number) => Promise<string[]>, isDamaged = false) {
  const { faults, meet } = createFaults(isDamaged)
  const lines: string[] = []
  let rounds = 0
  const recheck = startRecheck(
    {
      diskFaults: faults,
      find: () => find(++rounds),
      log: createLog('info', { write: (line) => lines.push(JSON.parse(line).msg) }),
    },
    [1, 1],
  )
  t.teardown(() => recheck.stop())
  return { recheck, meet, lines, isDamaged: faults.isDamaged, rounds: () => rounds }
}

t.test('recheck: a page that reads well again ends the fault, one that does not is read again', async (t) => {
  const { meet, isDamaged, lines, rounds } = started(t, async (round) =>
    round < 3 ? ['data.db: row 7 missing'] : [],
  )
  meet()
  t.equal(isDamaged(), true)
  await until('the note is withdrawn', () => !isDamaged())
  t.equal(rounds(), 3)
  t.match(lines, [/restore a backup/, /restore a backup/, /read without a fault/])
  meet()
  await until('the note is withdrawn', () => !isDamaged())
  t.equal(rounds(), 4, 'a further one is read as well')
})

t.test(
  'recheck: a fault that is met while everything is read is not withdrawn by that reading',
  async (t) => {
    const seen: boolean[] = []
    const { meet, isDamaged, rounds } = started(t, async (round) => {
      if (round === 1) meet()
      else seen.push(isDamaged())
      return []
    })
    meet()
    await until('the note is withdrawn', () => !isDamaged())
    t.equal(rounds(), 2)
    t.same(seen, [true])
  },
)

t.test(
  'recheck: pages that cannot be read stay a fault; the end of the gateway ends the reading',
  async (t) => {
    const { recheck, meet, isDamaged, rounds } = started(t, async () => {
      throw new Error('i/o error')
    })
    meet()
    await until('it was read three times', () => rounds() > 2)
    t.equal(isDamaged(), true)
    await recheck.stop()
    const before = rounds()
    meet()
    await new Promise((resolve) => setTimeout(resolve, 20))
    t.equal(rounds(), before)
  },
)
