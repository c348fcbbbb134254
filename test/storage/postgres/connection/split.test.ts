import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { PostgresDb } from '../../../../src/storage/postgres/connection/database.js'
import {
  makeDatabase,
  noPostgres,
  openDb,
  optionsFor,
  startServer,
  startStandby,
} from '../../../support/postgres.js'
import { rejectsWith } from '../../../support/rejects-with.js'

const write = (db: PostgresDb, id: number) =>
  db.write((rows) => rows.run('INSERT INTO item VALUES ($1) ON CONFLICT (id) DO NOTHING', id))

t.test(
  'PostgreSQL: of two primaries at once, the replaced one acknowledges nothing',
  { skip: noPostgres('pg_basebackup') },
  async (t) => {
    const former = await startServer(t)
    const name = await makeDatabase(former)
    await former.admin(
      `CREATE SCHEMA fieldgate AUTHORIZATION fieldgate; CREATE TABLE fieldgate.item (id int PRIMARY KEY);
        GRANT ALL ON ALL TABLES IN SCHEMA fieldgate TO fieldgate`,
      name,
    )
    const next = await startStandby(t, former)
    await former.admin(`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby)'`)
    await former.admin('SELECT pg_reload_conf()')
    while ((await former.admin(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum'`)).length === 0)
      await delay(20)

    const limits = { commitMs: 1000, waitMs: 1000 }
    const hosts = [former.host, next.host]
    const cutOff = openDb(t, optionsFor([former.host], name, { limits }))
    const both = openDb(t, optionsFor(hosts, name, { limits }))
    await write(cutOff, 1)
    await write(both, 2)

    await next.admin('SELECT pg_promote()')
    await next.admin(`ALTER SYSTEM SET synchronous_standby_names = ''`)
    await next.admin('SELECT pg_reload_conf()')
    t.match(await former.admin('SELECT pg_is_in_recovery() AS is'), [{ is: false }], 'both take writes')

    await rejectsWith(t, write(cutOff, 3), 'DATABASE_UNAVAILABLE')
    const fresh = openDb(t, optionsFor(hosts, name, { limits }))
    await write(fresh, 4)
    t.match(await fresh.read.all('SELECT id FROM item ORDER BY id'), [{ id: 1 }, { id: 2 }, { id: 4 }])

    // a process with connections to the former primary learns of the new one by its first commit that is not kept
    await rejectsWith(t, write(both, 5), 'DATABASE_UNAVAILABLE')
    for (let isStored = false; !isStored; await delay(50))
      isStored = await write(both, 6).then(
        () => true,
        (error: { errorName?: string }) => {
          if (error.errorName !== 'DATABASE_UNAVAILABLE') throw error
          return false
        },
      )
    const stored = await next.admin<{ id: number }>('SELECT id FROM fieldgate.item ORDER BY id', name)
    t.same(
      stored.map(({ id }) => id),
      [1, 2, 4, 6],
      'what was acknowledged, and nothing that the former primary took meanwhile',
    )
    t.match(await both.read.all('SELECT id FROM item ORDER BY id'), stored)
  },
)
