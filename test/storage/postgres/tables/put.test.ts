import t from 'tap'
import { createKeyring } from '../../../../src/storage/keyring.js'
import { createTableStore, createTablesContext } from '../../../../src/storage/postgres/tables/store.js'
import { migratedDatabases, noPostgres, openDb, optionsFor } from '../../../support/postgres.js'
import { columnOf, feature } from '../../../support/tables.js'

t.test(
  'put on PostgreSQL: rows, duplicates, refused keys, calls at once',
  { skip: noPostgres() },
  async (t) => {
    const { server, make } = await migratedDatabases(t)
    const db = openDb(t, optionsFor([server.host], await make()))
    const ctx = createTablesContext(db, { writer: 'w' })
    const store = createTableStore(ctx)
    const table = await store.register(
      {
        dataName: 'x',
        schema: 'event',
        columns: [
          columnOf({ name: 'k', udtName: 'int4' }),
          columnOf({ name: 'v' }),
          columnOf({ name: 'b', udtName: 'bpchar', length: 4 }),
        ],
        uniqueColumns: ['k', 'b'],
      },
      1,
    )
    const env = {
      timeZoneMin: 0,
      nowUs: 0n,
      keyring: createKeyring(new Uint8Array(32)),
      newPathId: () => 'p',
    }
    const put = (rows: unknown[], ifExists: 'skip' | 'override' | 'error' = 'skip') =>
      store.put(table, rows, { ifExists, env, putFile: async () => 'd' }).then((r) => r.counters)
    t.same(
      await put([
        feature([1, 2], { k: 1, v: 'a"\\,{}', b: 'x' }),
        feature(null, { k: 2, v: 'b', b: 'x' }),
        feature(null, { k: 1, v: 'c', b: 'x' }),
      ]),
      { upload: 3, duplicate: 1, insert: 2, update: 0 },
    )
    t.same(
      await put(
        [
          feature([1, 2], { k: 1, v: 'd', b: 'x' }),
          feature(null, { k: 3, v: 'NULL', b: 'y' }),
          feature(null, { k: 3, v: 'f', b: 'y' }),
        ],
        'override',
      ),
      { upload: 3, duplicate: 2, insert: 1, update: 2 },
    )
    await t.rejects(put([feature(null, { k: 9, b: 'z' }), feature(null, { k: 1, b: 'x' })], 'error'), {
      message: /k 1, b "x/,
    })
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, n) => put([feature([n, n], { k: 100 + n, b: 'q' })])),
    )
    t.equal(all.length, 30)
  },
)
