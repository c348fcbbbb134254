import t from 'tap'
import { isAppError } from '../../src/errors.js'
import { createTableStore } from '../../src/storage/sqlite/tables/store.js'
import { createAddColumns } from '../../src/storage/sqlite/versions/table-columns.js'
import { createWriteLock } from '../../src/storage/work/write-lock.js'
import { type CrowdPut, createCrowd } from '../../src/tables/crowd.js'
import { createLoader } from '../../src/tables/loader.js'
import type { SmallPut } from '../../src/tables/put-jobs.js'
import { openTestLoader } from '../support/loader.js'
import { rejectsWith } from '../support/rejects-with.js'
import { columnOf, feature, NOW_US, TIME_ZONE_MIN } from '../support/tables.js'

const DEFINITION = {
  dataName: 'crowded',
  schema: 'event',
  columns: [columnOf({ name: 'k', udtName: 'int4' })],
  uniqueColumns: ['k'],
}
const row = (k: unknown) => [feature(null, { k })]

t.test('crowd: many small calls at once are stored by a thread, each alone', async (t) => {
  const { loader, jobNames, data } = openTestLoader(t)
  const table = await loader.register(DEFINITION)
  const add = (k: unknown) => loader.add({ table, ifExists: 'error', owner: `key ${Number(k) % 3}` }, row(k))
  const keys = [...Array(200).keys()]
  const outcomes = await Promise.allSettled([...keys, 7, 'x', 2 ** 40].map(add))
  t.same(
    outcomes.slice(0, 200).map((outcome) => outcome.status === 'fulfilled' && outcome.value.insert),
    keys.map(() => 1),
  )
  const refused = outcomes.slice(200).map((outcome) => {
    if (outcome.status === 'fulfilled' || !isAppError(outcome.reason)) throw new Error('was not refused')
    return [outcome.reason.errorName, outcome.reason.data.index]
  })
  t.same(refused, [
    ['RECORD_EXISTS', 0],
    ['BAD_RECORD', 0],
    ['BAD_RECORD', 0],
  ])
  t.equal(data.reader.prepare(`SELECT count(*) FROM ${table.tableName}`).pluck().get(), 200)
  const groups = jobNames.filter((name) => name === 'loader.putAll').length
  t.ok(groups > 0 && groups < 10, `${groups} groups`)
  t.equal((await add(1000)).insert, 1)
})

t.test('crowd: a slow commit keeps later calls off the main thread', async (t) => {
  const { data, files, jobs, jobNames, loader } = openTestLoader(t)
  const table = await loader.register(DEFINITION)
  let commitMs = 5
  const slow = createLoader({
    tables: { ...createTableStore(data), commitMs: () => commitMs },
    addColumns: createAddColumns(data),
    ...{ jobs, writers: jobs, files, loadTurns: createWriteLock(), timeZoneMin: TIME_ZONE_MIN },
    keyring: { encrypt: () => t.fail('nothing is encrypted') } as never,
    nowUs: () => NOW_US,
    requireSpace: async () => undefined,
    log: { error: (fields: unknown) => t.fail(JSON.stringify(fields)) } as never,
  })
  const add = (k: number) => slow.add({ table, ifExists: 'error' }, row(k))
  await add(1)
  await add(2)
  t.same(jobNames, [], 'a fast disk')
  commitMs = 50
  await add(3)
  await add(4)
  t.same(jobNames, ['loader.putAll'], 'the call after the slow commit')
})

/** A crowd over a scripted thread. */
function scripted(store: (puts: readonly SmallPut[]) => unknown) {
  const lock = createWriteLock()
  const groups: string[][] = []
  const crowd = createCrowd({
    tables: { inTurn: (work, owner) => lock.run(work, owner) },
    writers: {
      async call<R>(_name: string, payload: unknown) {
        const puts = payload as readonly SmallPut[]
        groups.push(puts.map(({ owner, json }) => `${owner}${json}`))
        return (await store(puts)) as R
      },
    },
  })
  const put = (owner: string, json: string, signal?: AbortSignal): CrowdPut => ({
    put: { dataName: 'x', tableId: 1, ifExists: 'error', nowUs: 0, maxMergeRows: 1, owner, json },
    signal,
  })
  return { lock, groups, crowd, put }
}

const RESULT = { counters: { upload: 1, duplicate: 0, insert: 1, update: 0 }, isMergeDue: false }
const stored = (puts: readonly SmallPut[]) => puts.map(() => ({ result: RESULT }))

t.test('crowd: owners have turns, groups are small, and other writers come in between', async (t) => {
  const { lock, groups, crowd, put } = scripted(stored)
  const order: string[] = []
  const held = Promise.withResolvers<void>()
  const first = lock.run(() => held.promise)
  const many = Array.from({ length: 100 }, (_, i) => crowd(put('a', `${i}`)))
  const single = crowd(put('b', '0')).then(() => order.push('b'))
  const other = lock.run(() => order.push(`another after ${groups.length}`), 'another')
  held.resolve()
  await Promise.all([first, single, other, ...many])
  t.same(groups[0]?.slice(0, 4), ['a0', 'b0', 'a1', 'a2'])
  t.same(
    groups.map((group) => group.length),
    [64, 37],
  )
  t.ok(order.includes('another after 1'), order.join())
})

t.test('crowd: a call whose caller is gone is left out', async (t) => {
  const { groups, crowd, put, lock } = scripted(stored)
  const aborted = new AbortController()
  const held = Promise.withResolvers<void>()
  const first = lock.run(() => held.promise)
  const gone = crowd(put('a', '1', aborted.signal))
  const stays = crowd(put('a', '2', new AbortController().signal))
  aborted.abort()
  held.resolve()
  await Promise.all([first, rejectsWith(t, gone, 'CANCELLED')])
  t.same(await stays, RESULT)
  t.same(groups, [['a2']])
  const alone = new AbortController()
  alone.abort()
  await rejectsWith(t, crowd(put('a', '3', alone.signal)), 'CANCELLED')
  t.same(groups.length, 1, 'no turn of the thread for nobody')
})

t.test('crowd: when the thread ends its group fails, and the next is stored', async (t) => {
  let isDead = true
  const { crowd, put } = scripted((puts) => {
    if (isDead) throw new Error('the worker thread ended with code 1')
    return stored(puts)
  })
  const outcomes = await Promise.allSettled([crowd(put('a', '1')), crowd(put('a', '2'))])
  t.same(
    outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message),
    Array(2).fill('the worker thread ended with code 1'),
  )
  isDead = false
  t.same(await crowd(put('a', '3')), RESULT)
})
