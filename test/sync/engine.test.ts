import t from 'tap'
import { closedReasonOf, endWaits, notify } from '../../src/sync/engine.js'
import type { AttemptFault } from '../../src/sync/faults.js'
import { newLane } from '../../src/sync/lanes.js'
import { engineOf, outboxParts } from '../support/outbox.js'

t.test('closedReasonOf: the operator comes before the settings', async (t) => {
  const at = await outboxParts(t)
  const engine = await engineOf(at.deps, at.state)
  t.equal(closedReasonOf(engine), null)
  at.clock.reason = 'outside sync.windows'
  t.equal(closedReasonOf(engine), 'outside sync.windows')
  engine.isPaused = true
  t.equal(closedReasonOf(engine), 'paused by an operator')
})

t.test('endWaits: the lanes of one upstream, or all', async (t) => {
  const at = await outboxParts(t)
  const engine = await engineOf(at.deps, at.state)
  const waiting = () => [...engine.lanes].filter(([, lane]) => lane.waitUntilMs > 0).map(([key]) => key)
  const fill = () => {
    for (const [key, upstreamId] of [
      ['a', 0],
      ['b', 1],
      ['c', 1],
    ] as const)
      engine.lanes.set(key, { ...newLane({ upstreamId, kind: 'fetch' }), waitUntilMs: 9, failures: 2 })
  }
  fill()
  endWaits(engine, 1)
  t.same(waiting(), ['a'])
  t.equal(engine.lanes.get('b')?.failures, 0)
  fill()
  endWaits(engine, 0)
  t.same(waiting(), ['b', 'c'], 'an id of 0 is one upstream, too')
  endWaits(engine)
  t.same(waiting(), [])
})

t.test('notify: every watcher gets the row as it is now; without watchers it is not read', async (t) => {
  const at = await outboxParts(t)
  const engine = await engineOf(at.deps, at.state)
  const id = await at.queue(await at.upstream())
  let reads = 0
  const { find } = engine.transfers
  engine.transfers = {
    ...engine.transfers,
    async find(transferId) {
      reads++
      return await find(transferId)
    },
  }
  await notify(engine, id, null)
  t.equal(reads, 0)
  const seen: unknown[] = []
  const fault: AttemptFault = { scope: 'lane', name: 'X', message: 'x' }
  const once = (transfer: { state: string }, given: AttemptFault | null) => {
    engine.watchers.delete(once)
    seen.push(['first', transfer.state, given])
  }
  engine.watchers.add(once)
  engine.watchers.add((transfer, given) => void seen.push(['second', transfer.state, given]))
  await notify(engine, id, fault)
  t.same(seen, [
    ['first', 'queued', fault],
    ['second', 'queued', fault],
  ])
  await notify(engine, 99, null)
  t.equal(seen.length, 2, 'a row that was removed is not reported')
})
