import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { AppError } from '../../src/errors.js'
import { createWriteLock } from '../../src/storage/work/write-lock.js'
import { loadByJob } from '../../src/tables/load-by-job.js'
import type { LoadJob } from '../../src/tables/load-jobs.js'
import { openTestLoader } from '../support/loader.js'
import { rejectsWith } from '../support/rejects-with.js'
import { feature } from '../support/tables.js'

const TABLE = { dataName: 'loaded', tableId: 1 }
const LOAD: LoadJob = { ...TABLE, ifExists: 'error', nowUs: 0, json: '[]' }
const RESULT = { counters: { upload: 1, duplicate: 0, insert: 1, update: 0 }, isMergeDue: false }

/** A load over scripted jobs. @param answer of a job, called with its name and the emitter of its event */
function scripted(answer: (name: string, emit: (event: unknown) => void) => unknown) {
  const events: string[] = []
  const lock = createWriteLock()
  const deps = {
    tables: { inTurn: <T>(work: () => Promise<T>, owner?: string) => lock.run(work, owner) },
    jobs: {
      async call<R>(name: string, _payload: unknown, options: { onEvent?: (event: unknown) => void } = {}) {
        events.push(name)
        const result = (await answer(name, (event) => options.onEvent?.(event))) as R
        events.push(`${name} ended`)
        return result
      },
    },
    loadTurns: createWriteLock(),
    log: { error: ((_fields: unknown, message: string) => events.push(`log: ${message}`)) as never },
  }
  return { deps, lock, events }
}

t.test('load: reading holds no turn, and neither does moving the log', async (t) => {
  const gates = { moved: Promise.withResolvers<void>() }
  let steps = 0
  const { deps, lock, events } = scripted(async (name, emit) => {
    if (name === 'loader.stage') {
      await lock.run(() => events.push('a small write while it is read'))
      return ++steps === 2
    }
    emit(RESULT)
    await gates.moved.promise
  })
  t.same(await loadByJob(deps, {}, LOAD), RESULT, 'answered before the log is moved')
  await lock.run(() => events.push('a small write while the log is moved'))
  const next = deps.loadTurns.run(() => events.push('the next load'))
  gates.moved.resolve()
  await next
  t.same(events, [
    'loader.stage',
    'a small write while it is read',
    'loader.stage ended',
    'loader.stage',
    'a small write while it is read',
    'loader.stage ended',
    'loader.store',
    'a small write while the log is moved',
    'loader.store ended',
    'the next load',
  ])
})

t.test('load: what was read is forgotten when it is not stored, and the turns go on', async (t) => {
  for (const failing of ['loader.stage', 'loader.store']) {
    const { deps, lock, events } = scripted((name) => {
      if (name === failing) throw new AppError('CANCELLED')
      return true
    })
    await rejectsWith(t, loadByJob(deps, {}, LOAD), 'CANCELLED')
    t.equal(await lock.run(() => deps.loadTurns.run(() => 'free')), 'free')
    t.equal(events.at(-1), 'loader.discard ended')
  }
  const gone = scripted((name) => {
    throw new Error(`the thread has ended: ${name}`)
  })
  await t.rejects(loadByJob(gone.deps, {}, LOAD), { message: 'the thread has ended: loader.stage' })
})

t.test('load: a log that cannot be moved does not fail what is stored', async (t) => {
  const failing = (error: Error) =>
    scripted((name, emit) => {
      if (name === 'loader.stage') return true
      emit(RESULT)
      throw error
    })
  for (const [error, isTold] of [
    [new Error('EIO'), true],
    [new AppError('CANCELLED'), false], // the gateway stops
  ] as const) {
    const { deps, events } = failing(error)
    t.same(await loadByJob(deps, {}, LOAD), RESULT)
    await deps.loadTurns.run(() => undefined)
    t.equal(events.includes('log: the log of data.db could not be moved into the file'), isTold)
  }
})

t.test('load jobs: faults keep their order, whatever was read ahead', async (t) => {
  const opened = openTestLoader(t)
  const { loader } = opened
  const table = await loader.register({
    dataName: 'loaded',
    schema: 'event',
    columns: [
      {
        name: 'k',
        udtName: 'int4',
        isNullable: true,
        columnDefault: null,
        length: null,
        srid: null,
        isEncrypted: false,
        file: null,
      },
    ],
    uniqueColumns: ['k'],
  })
  const spool = (records: readonly unknown[]) => {
    const file = path.join(opened.tempDir, 'spooled')
    const text = JSON.stringify(records)
    writeFileSync(file, text)
    return { file, start: 1, end: text.length - 1 }
  }
  const rows = (...keys: unknown[]) => keys.map((k) => feature(null, { k }))
  const add = (...keys: unknown[]) => loader.addSpooled({ table, ifExists: 'error' }, spool(rows(...keys)))
  t.same(await add(1, 2), { upload: 2, duplicate: 0, insert: 2, update: 0 })
  const before = opened.dump()
  await rejectsWith(t, add(3, 2, 'x'), 'RECORD_EXISTS', { data: { index: 1, unique_columns: ['k'] } })
  await rejectsWith(t, add(3, 'x', 2), 'BAD_RECORD', { data: { index: 1 } })
  t.same(opened.dump(), before, 'nothing of them is stored')
  const { signal } = Object.assign(new AbortController())
  t.same(
    await loader.addSpooled(
      { table, ifExists: 'override', signal, owner: 'a' },
      spool(rows(...Array(3000).keys())),
    ),
    {
      upload: 3000,
      duplicate: 2,
      insert: 2998,
      update: 2,
    },
  )
  await t.rejects(opened.jobs.call('loader.store', { id: 'none' }), {
    message: 'a load was begun in a thread that has ended',
  })
  await rejectsWith(
    t,
    opened.jobs.call('loader.stage', { id: 'gone', load: { ...LOAD, tableId: 99 } }),
    'UNKNOWN_TABLE',
  )
})
