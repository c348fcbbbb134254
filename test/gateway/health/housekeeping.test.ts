import t from 'tap'
import { startHousekeeping } from '../../../src/gateway/health/housekeeping.js'
import type { Log } from '../../../src/log.js'
import type { State } from '../../../src/storage/state.js'

/** Housekeeping over rounds with scripted outcomes: the message of an error, or null. */
function scripted(outcomes: readonly (string | null)[]) {
  const lines: unknown[] = []
  const faults: (string | null)[] = []
  const done = Promise.withResolvers<void>()
  let round = 0
  const state = {
    clock: { isTrusted: () => true },
    audit: { handOver: async () => undefined },
    async housekeep() {
      faults.push(round === 0 ? null : housekeeping.fault())
      const outcome = outcomes[round++]
      if (round === outcomes.length) done.resolve()
      if (typeof outcome === 'string') throw new Error(outcome)
    },
  } as unknown as State // the members that a round uses
  const log = { error: (_fields: unknown, message: string) => lines.push(message) } as unknown as Log
  const housekeeping = startHousekeeping(state, async () => true, log, 1)
  return { housekeeping, lines, faults, rounds: () => round, done: done.promise }
}

t.test('housekeeping: a failed round is repeated soon, until one succeeds', async (t) => {
  const { housekeeping, lines, faults, rounds, done } = scripted(['EIO', 'EIO', 'ENOSPC', null])
  await done
  await housekeeping.stop()
  const fault = 'the last round of housekeeping failed; the log has the reason'
  t.same(faults, [null, fault, fault, fault])
  t.equal(housekeeping.fault(), null)
  t.same(
    lines,
    ['housekeeping failed', 'housekeeping failed'],
    'a line for each fault, however long it lasts',
  )
  t.equal(rounds(), 4)
})

t.test(
  'housekeeping: a fault that comes back has its line again; none is repeated after the stop',
  async (t) => {
    const { housekeeping, lines, rounds, done } = scripted(['EIO', null, 'EIO'])
    while (rounds() < 2) await new Promise(setImmediate)
    housekeeping.request()
    await done
    const stopped = housekeeping.stop()
    await stopped
    t.equal(lines.length, 2)
    await new Promise((resolve) => setTimeout(resolve, 5))
    t.equal(rounds(), 3)
  },
)
