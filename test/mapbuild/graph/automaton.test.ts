import t from 'tap'
import { buildAutomaton, ROOT } from '../../../src/mapbuild/graph/automaton.js'

t.test('automaton: its state is the longest sequence that begins a rule', async (t) => {
  const automaton = buildAutomaton([
    { kind: 'no', links: [1, 2, 3] },
    { kind: 'no', links: [2, 4] },
    { kind: 'only', links: [5, 6] },
    { kind: 'only', links: [5, 7] },
  ])
  const after = (...links: number[]) => links.reduce((memory, link) => automaton.next(memory, link), ROOT)
  t.equal(after(9), ROOT)
  t.equal(automaton.isAllowed(after(1, 2), 3), false)
  t.equal(automaton.isAllowed(after(1, 2), 4), false, 'the shorter rule holds as well')
  t.equal(automaton.isAllowed(after(2), 3), true)
  t.equal(automaton.isAllowed(after(5), 6), true)
  t.equal(automaton.isAllowed(after(5), 7), true)
  t.equal(automaton.isAllowed(after(5), 8), false)
  t.equal(after(1, 1, 2), after(1, 2))
})
