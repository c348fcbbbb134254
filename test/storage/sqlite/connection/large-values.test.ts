import t from 'tap'
import { openDatabase } from '../../../../src/storage/sqlite/connection/database.js'
import { requireReadable } from '../../../../src/storage/sqlite/connection/large-values.js'
import { limitValues } from '../../../../src/storage/sqlite/connection/value-limit.js'
import { throwsWith } from '../../../support/throws.js'

t.test('large values: the column that is too large alone is named, else the row', async (t) => {
  const db = openDatabase(':memory:', [])
  t.teardown(() => db.close())
  const row = (a: number, b: number) => () =>
    requireReadable(db, [
      { name: 'a', bytes: a },
      { name: 'b', bytes: b },
    ])
  t.equal(row(9e9, 9e9)(), 18e9, 'no limit')
  limitValues(db, 100)
  t.equal(row(40, 60)(), 100)
  const alone = throwsWith(t, row(10, 101), 'VALUE_TOO_LARGE')
  t.match(alone.message, /^a value of the column b: /)
  t.match(alone.data, { column: 'b', foundBytes: 101, maxBytes: 100 })
  t.match(throwsWith(t, row(101, 10), 'VALUE_TOO_LARGE').data, { column: 'a', foundBytes: 101 })
  const together = throwsWith(t, row(41, 60), 'VALUE_TOO_LARGE')
  t.match(together.message, /^a row: /)
  t.match(together.data, { column: null, foundBytes: 101, maxBytes: 100 })
})
