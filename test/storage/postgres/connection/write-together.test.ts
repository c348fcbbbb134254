import t from 'tap'
import { AppError } from '../../../../src/errors.js'
import {
  type GroupOutcome,
  writeTogether,
} from '../../../../src/storage/postgres/connection/write-together.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Writes whose transactions end when the test says so. */
function setUp(nowMs = () => 0) {
  const groups: { items: readonly string[]; end(fault?: unknown): Promise<unknown> }[] = []
  const write = writeTogether<string, string>({
    ...{ most: 3, keyOf: (item) => item.slice(0, 1), nowMs },
    write: (lane, items) =>
      new Promise((resolve, reject) => {
        const outcomes = items.map(
          (item): GroupOutcome<string> =>
            item.endsWith('?') ? { fault: new AppError('LOOP') } : { result: `${lane} ${item}` },
        )
        const end = (fault?: unknown) => {
          if (fault === undefined) resolve(outcomes)
          else reject(fault)
          return turn()
        }
        groups.push({ items, end })
      }),
  })
  return { write, groups, items: () => groups.map(({ items }) => items.join(' ')) }
}

t.test(
  'writes: those that wait share a transaction, up to the most, and one at a time has a key',
  async (t) => {
    const { write, groups, items } = setUp()
    const first = write('one', 'a1')
    await turn()
    const others = ['b1', 'a2', 'b2', 'c1', 'd1'].map((item) => write('one', item))
    const elsewhere = write('two', 'a9')
    await turn()
    t.same(items(), ['a1', 'a9'], 'lanes do not wait for each other')
    await groups[1]?.end()
    t.equal(await elsewhere, 'two a9')
    await groups[0]?.end()
    t.equal(await first, 'one a1')
    t.same(items().slice(2), ['b1 a2 c1'])
    await groups[2]?.end()
    t.same(items().slice(3), ['b2 d1'])
    await groups[3]?.end()
    t.same(await Promise.all(others), ['one b1', 'one a2', 'one b2', 'one c1', 'one d1'])
    const later = write('one', 'z1')
    await turn()
    await groups[4]?.end()
    t.equal(await later, 'one z1', 'a lane begins again')
  },
)

t.test('writes: each item has its outcome; a fault of a group is found by writing each alone', async (t) => {
  const { write, groups, items } = setUp()
  const good = write('one', 'a1')
  const refused = write('one', 'b?')
  await turn()
  await groups[0]?.end(new Error('a unique constraint'))
  t.same(items().slice(1), ['a1'])
  await groups[1]?.end()
  t.equal(await good, 'one a1')
  const rejected = rejectsWith(t, refused, 'LOOP')
  await groups[2]?.end()
  await rejected
})

t.test('writes: a fault of the database is that of the whole group, and of no other', async (t) => {
  const { write, groups, items } = setUp()
  const failed = ['a1', 'b1'].map((item) => write('one', item))
  await turn()
  const next = write('one', 'c1')
  const rejected = failed.map((one) => rejectsWith(t, one, 'DATABASE_UNAVAILABLE'))
  await groups[0]?.end(new AppError('DATABASE_UNAVAILABLE'))
  await Promise.all(rejected)
  t.same(items(), ['a1 b1', 'c1'])
  await groups[1]?.end()
  t.equal(await next, 'one c1')
})

t.test('writes: what waited for too long is not written', async (t) => {
  let nowMs = 0
  const { write, groups, items } = setUp(() => nowMs)
  const first = write('one', 'a1')
  await turn()
  const late = write('one', 'b1')
  nowMs = 10_000
  const inTime = write('one', 'c1')
  nowMs = 20_000
  const rejected = rejectsWith(t, late, 'BUSY')
  await groups[0]?.end()
  await rejected
  t.equal(await first, 'one a1')
  t.same(items(), ['a1', 'c1'])
  await groups[1]?.end()
  t.equal(await inTime, 'one c1')
})
