import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { ReceivedRow } from '../../../../src/storage/exchange/feeds.js'
import { createTaking } from '../../../../src/storage/postgres/feeds/take-together.js'
import type { TablesContext } from '../../../../src/storage/postgres/tables/store.js'
import type { LoaderTable } from '../../../../src/storage/tables.js'
import { STATE, sentRow, VAN } from '../../../support/conformance/inbox.js'

const BATCHES = 12
/** of a batch: two of them make a group */
const ROWS = 700

t.test('taking: rows are read for the groups that are stored and the next one; others wait', async (t) => {
  const table = { tableId: 1 } as LoaderTable
  const stored: (() => void)[] = []
  // a database whose transactions end when the test says so
  const write = () => new Promise((resolve) => stored.push(() => resolve(Array(2).fill({ result: ROWS }))))
  const taking = createTaking({
    db: { write },
    origins: { prepare: async () => undefined },
  } as unknown as TablesContext)
  let read = 0
  const rowsOf = (feed: number): Iterable<ReceivedRow> => ({
    *[Symbol.iterator]() {
      for (let row = 0; row < ROWS; row++) {
        if (feed === 0 && row === ROWS - 1) throw new Error('broken')
        if (feed > 0) read++
        yield sentRow(feed * ROWS + row)
      }
    },
  })
  const batchOf = (feed: number) => ({
    ...{ ...STATE, feed: `feed ${feed}`, after: 0, last: ROWS, rows: rowsOf(feed), origin: VAN },
  })
  const [broken, ...taken] = Array.from({ length: BATCHES + 1 }, (_, feed) =>
    taking.take(table, batchOf(feed), `key ${feed}`),
  )
  await t.rejects(Promise.resolve(broken), /broken/, 'the batch that cannot be read fails alone')
  for (let turns = 0; turns < 500; turns++) await turn()
  t.equal(stored.length, 2, 'the second transaction waits for the lock in the database')
  t.equal(read, 7 * ROWS, 'three groups of two, and one that does not fit')
  let ended = 0
  while (ended < BATCHES / 2) {
    await turn()
    const end = stored[ended]
    if (end === undefined) continue
    ended++
    end()
  }
  t.same(await Promise.all(taken), Array(BATCHES).fill(ROWS))
  t.equal(read, BATCHES * ROWS)
})
