import t from 'tap'
import { createSessionUses } from '../../../../src/storage/sqlite/access/session-uses.js'

t.test(
  'session uses: one noted while it is written stays due; one forgotten does not come back',
  async (t) => {
    const uses = createSessionUses(0)
    const lookedUp: string[] = []
    const storedOf = (id: string) => {
      lookedUp.push(id)
      return 100
    }
    for (const id of ['again', 'ended', 'once']) uses.note(id, 500)
    const due = uses.due(storedOf, true)
    t.same(
      due.map(({ sessionId }) => sessionId),
      ['again', 'ended', 'once'],
    )
    uses.note('again', 700)
    uses.forget(['ended'])
    uses.written(due)
    t.equal(uses.latest('ended', 0), 0)
    t.same(uses.due(storedOf, true), [{ sessionId: 'again', usedUs: 700 }])
    t.same(lookedUp, ['again', 'ended', 'once'], 'what was written is known')
    uses.note('again', 500)
    t.same(uses.due(storedOf, true), [], 'measured from the use that was written')
  },
)
