import path from 'node:path'
import t from 'tap'
import { dropDiscarded } from '../../../../src/storage/sqlite/versions/discarded.js'
import { discardTable } from '../../../../src/storage/sqlite/versions/history.js'
import { openDatasets } from '../../../support/datasets.js'

t.test(
  'discarded: small tables are dropped, large ones stay listed, missing ones are forgotten',
  async (t) => {
    const { data, close } = openDatasets(path.join(t.testdir(), 'data.db'))
    t.teardown(close)
    const { writer: db, lock } = data
    db.exec(`CREATE TABLE small (x); INSERT INTO small VALUES (1), (2);
    CREATE TABLE large (x); INSERT INTO large VALUES (1), (2), (3);
    CREATE VIRTUAL TABLE large_tree USING rtree(id, a, b); INSERT INTO large_tree VALUES (3, 0, 1);
    CREATE VIRTUAL TABLE small_tree USING rtree(id, a, b)`)
    for (const name of ['small', 'large', 'large_tree', 'small_tree', 'missing'])
      discardTable(db, `"${name}"`)
    let pauses = 0
    const removal = { db, lock, pause: () => void pauses++ }
    t.equal(await dropDiscarded(removal, 2), 3)
    t.ok(pauses >= 5, `${pauses} pauses`)
    const listed = () => db.prepare('SELECT table_name FROM dropped_table ORDER BY 1').pluck().all()
    const exists = (name: string) =>
      db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined
    t.same(listed(), ['large', 'large_tree'])
    t.same(['small', 'small_tree', 'large', 'large_tree'].map(exists), [false, false, true, true])
    t.equal(await dropDiscarded(removal, Infinity), 2)
    t.same(listed(), [])
    t.equal(exists('large_tree'), false)
  },
)
