import t from 'tap'
import { createAllowanceRows } from '../../../../src/storage/postgres/access/allowances.js'
import { migratedDatabases, noPostgres, openDb, optionsFor } from '../../../support/postgres.js'

const skip = noPostgres()

t.test(
  'allowances of PostgreSQL: processes take from one, which refills by its own clock',
  { skip },
  async (t) => {
    const { server, make } = await migratedDatabases(t)
    const name = await make()
    const [db, other] = [0, 1].map(() => openDb(t, optionsFor([server.host], name)))
    if (db === undefined || other === undefined) throw new Error('no database')
    const [one, two] = [createAllowanceRows(db), createAllowanceRows(other)]
    const take = (rows: typeof one, owner: string, amount: number) =>
      rows.take([{ perMinute: 60, taken: new Map([[owner, amount]]) }])
    t.equal((await take(one, 'k', 50)).get('k'), 10)
    const after = (await take(two, 'k', 50)).get('k') ?? 0
    t.ok(after < 0 && after > -60, `${after}`)
    t.equal((await take(two, 'k', 1000)).get('k'), -60, 'a debt is a minute at most')
    t.equal((await take(one, 'other', 1)).get('other'), 59)
    const both = await Promise.all(
      Array.from({ length: 20 }, (_, at) => take(at % 2 === 0 ? one : two, 'crowd', 1)),
    )
    t.equal(
      Math.ceil(Math.min(...both.map((left) => left.get('crowd') ?? 0))) >= 40,
      true,
      'each was counted once',
    )
    await db.write((rows) => rows.run(`UPDATE allowance SET at = at - interval '1 hour'`))
    t.equal((await take(one, 'k', 1)).get('k'), 59, 'full again')
    await db.write((rows) => rows.run(`UPDATE allowance SET at = at - interval '1 hour'`))
    await one.sweep()
    t.same(await db.read.all('SELECT 1 FROM allowance'), [])
  },
)
