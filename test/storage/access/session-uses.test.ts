import t from 'tap'
import { createSessionUses } from '../../../src/storage/access/session-uses.js'

t.test(
  'session uses: one noted while it is written stays due; one forgotten does not come back',
  async (t) => {
    const uses = createSessionUses(0, 50)
    for (const id of ['again', 'ended', 'once']) uses.note(id, 500)
    t.same(uses.due(true), [], 'nothing is known of what is stored')
    const unread = uses.unread()
    uses.note('gone', 500)
    uses.read([...unread, 'gone'], new Map(unread.map((id) => [id, 100])))
    uses.note('late', 500)
    const due = uses.due(true)
    t.same(
      due.map(({ sessionId }) => sessionId),
      ['again', 'ended', 'once'],
    )
    uses.note('again', 700)
    uses.forget(['ended'])
    uses.written(due)
    t.equal(uses.latest('ended', 0), 0)
    t.same(uses.due(true), [{ sessionId: 'again', usedUs: 700 }])
    t.same(uses.unread(), ['late'], 'what was written is known, and what has no row is forgotten')
    uses.note('again', 500)
    t.same(uses.due(true), [], 'measured from the use that was written')
  },
)
