import t from 'tap'
import { createCitationObjects } from '../../../../src/storage/postgres/feeds/citation-objects.js'
import { migratedDatabases, noPostgres, openDb, optionsFor } from '../../../support/postgres.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const [VAN, TRUCK] = ['11111111-2222-4333-8444-555555555555', '99999999-2222-4333-8444-555555555555']
const [A, B] = ['aa'.repeat(32), 'bb'.repeat(32)]

t.test(
  'citation objects: the first offer decides, and the order of completion stays',
  {
    skip: noPostgres(),
  },
  async (t) => {
    const { server, make } = await migratedDatabases(t)
    const name = await make()
    const open = () => createCitationObjects(openDb(t, optionsFor([server.host], name)))
    const [one, two] = [open(), open()]
    const claim = (longForm: string, checksum = A, origin = VAN) =>
      two.claim({ origin, longForm, checksum }, 7)
    t.equal(await one.claim({ origin: VAN, longForm: 'c_1', checksum: A }, 5), false)
    t.equal(await claim('c_1'), false)
    await rejectsWith(t, claim('c_1', B), 'CITATION_DIFFERS')
    await rejectsWith(t, claim('c_1', A, TRUCK), 'CITATION_DIFFERS')
    t.same(await one.after(0), [], 'an offer is no citation yet')
    await rejectsWith(t, one.complete({ origin: VAN, longForm: 'c_2', sha256: A }), 'CITATION_DIFFERS')

    await Promise.all(['c_2', 'c_3', 'c_4', 'c_5'].map((longForm) => claim(longForm)))
    const completing = ['c_5', 'c_2', 'c_4', 'c_3'].map((longForm, at) =>
      [one, two][at % 2]?.complete({ origin: VAN, longForm, sha256: B }),
    )
    await Promise.all(completing)
    const all = await one.after(0)
    t.same(
      all.map(({ seq }) => seq),
      [1, 2, 3, 4],
    )
    t.same(await two.after(0), all)
    t.same(await two.after(3), all.slice(3))
    t.equal(await claim('c_2'), true)
    await two.complete({ origin: VAN, longForm: 'c_2', sha256: B })
    t.same(await one.after(0), all, 'the same object again is no news')
    await two.complete({ origin: VAN, longForm: 'c_2', sha256: A })
    t.match(await one.after(4), [{ origin: VAN, longForm: 'c_2', sha256: A, seq: 5 }])
  },
)
