import path from 'node:path'
import t from 'tap'
import { type BulkWork, bulkWorkBy, datasetJobs } from '../../src/datasets/jobs.js'
import { AppError } from '../../src/errors.js'
import { createCitationReader } from '../../src/storage/sqlite/citations/store.js'
import type { DataDb } from '../../src/storage/sqlite/connection/data-db.js'
import { createBulkDatasetRows } from '../../src/storage/sqlite/datasets/store.js'
import type { WorkHandler } from '../../src/worker/host.js'
import { allRecords, columns, definition, openDatasets } from '../support/datasets.js'
import { rejectsWith } from '../support/rejects-with.js'
import { workOf } from '../support/work.js'

/** The handlers of the job thread, called on this one. */
function bulkWorkOver(data: () => DataDb, called: string[]): BulkWork {
  let handlers: Record<string, WorkHandler> | undefined
  return bulkWorkBy({
    async call<T>(name: string, payload: unknown): Promise<T> {
      handlers ??= datasetJobs({
        rows: createBulkDatasetRows(data().writer),
        openCitations: () => createCitationReader(data().reader),
      })
      const handler = handlers[name]
      if (handler === undefined) throw new Error(`no handler ${name}`)
      const { json, citationId } = payload as { json?: string; citationId?: number }
      const given = json === undefined ? citationId : (JSON.parse(json) as unknown)
      called.push(`${name} ${Array.isArray(given) ? given.length : JSON.stringify(given)}`)
      return (await handler(payload, workOf())) as T
    },
  })
}

const rows = (count: number) => Array.from({ length: count }, (_, k) => [k])

t.test('datasets: a full disk refuses what adds, reads and removals go on', async (t) => {
  const disk = { isFull: false }
  const { store, close } = openDatasets(path.join(t.testdir(), 'data.db'), 7, {
    async requireSpace() {
      if (disk.isFull) throw new AppError('DISK_FULL')
    },
  })
  t.teardown(close)
  await store.create(definition('d', columns('k int')))
  await store.put('d', rows(3), 'error')
  const { longForm } = await store.cite('c', 'd')
  disk.isFull = true
  await rejectsWith(t, store.create(definition('e', columns('k int'))), 'DISK_FULL')
  await rejectsWith(t, store.put('d', rows(1), 'error'), 'DISK_FULL')
  await rejectsWith(t, store.deleteRecords('d', {}), 'DISK_FULL')
  await rejectsWith(t, store.cite('c', 'd'), 'DISK_FULL')
  t.equal((await allRecords(store, longForm)).length, 3)
  await store.uncite(longForm)
  t.match(await store.remove('d'), { shortForm: 'd' })
})

t.test('datasets: many rows and large checksums go to the other thread', async (t) => {
  const called: string[] = []
  const bulk = bulkWorkOver(() => data, called)
  const { store, data, close } = openDatasets(path.join(t.testdir(), 'data.db'), 500, { bulk })
  t.teardown(close)
  await store.create(definition('d', columns('k int')))
  t.equal(await store.put('d', rows(500), 'error'), 500)
  t.equal(await store.deleteRecords('d', { '<': ['k', 2] }), 2)
  await store.cite('small', 'd')
  await store.settled()
  t.same(called, [], 'few are done here')
  t.equal(await store.put('d', rows(20_000), 'error'), 20_000)
  t.equal(await store.deleteRecords('d', { '=': ['k', 7] }), 2)
  await store.cite('large', 'd')
  await store.settled()
  // a checksum is one call a step, and the speed of the machine decides how many steps there are
  const isNextStep = (call: string, i: number) => call === 'dataset.checksum 2' && called[i - 1] === call
  t.same(
    called.filter((call, i) => !isNextStep(call, i)),
    ['dataset.put 20000', 'dataset.delete {"=":["k",7]}', 'dataset.checksum 2'],
  )
  const [small, large] = await store.listCitations({})
  t.match([small?.checksum, large?.checksum], [/^[0-9a-f]{64}$/, /^[0-9a-f]{64}$/])
})

t.test(
  'datasets: a checksum that fails is told and tried by the next run; a busy thread is asked again',
  async (t) => {
    const errors: unknown[] = []
    let asked = 0
    const bulk: BulkWork = {
      put: (job) => createBulkDatasetRows(data.writer).put(job, () => undefined),
      deleteRecords: () => Promise.reject(new Error('not asked for')),
      async checksum() {
        asked++
        throw asked === 1 ? new AppError('BUSY') : new Error('damaged')
      },
    }
    const file = path.join(t.testdir(), 'data.db')
    const log = { error: (fields: unknown) => void errors.push(fields) }
    const { store, data, close } = openDatasets(file, 500, { bulk, log } as object)
    await store.create(definition('d', columns('k int')))
    await store.put('d', rows(20_001), 'error')
    await store.cite('c', 'd')
    await store.settled()
    t.equal(asked, 2)
    t.match(errors, [{ citationId: 1, err: { message: 'damaged' } }])
    t.match(await store.listCitations({}), [{ checksum: null }])
    await close()
    const next = openDatasets(file)
    t.teardown(next.close)
    await next.store.settled()
    t.match(await next.store.listCitations({}), [{ checksum: /^[0-9a-f]{64}$/ }])
  },
)

t.test('datasets: a reading of a citation that is deleted meanwhile ends with an error', async (t) => {
  const { store, close } = openDatasets(path.join(t.testdir(), 'data.db'))
  t.teardown(close)
  await store.create(definition('d', columns('k int')))
  await store.put('d', rows(50), 'error')
  await store.cite('c', 'd')
  const pages = await store.read('c', {})
  t.equal((await pages.next()).value.length, 7)
  await store.uncite('c')
  await rejectsWith(t, pages.next(), 'UNKNOWN_CITATION')
})

t.test('datasets: a caller who stops reading, or goes away, ends the reading', async (t) => {
  const { store, close } = openDatasets(path.join(t.testdir(), 'data.db'))
  t.teardown(close)
  await store.create(definition('d', columns('k int')))
  await store.put('d', rows(50), 'error')
  await store.cite('c', 'd')
  const gone = new AbortController()
  const pages = await store.read('c', {}, gone.signal)
  await pages.next()
  gone.abort()
  await rejectsWith(t, pages.next(), 'CANCELLED')
  const stopped = await store.read('c', {})
  await stopped.next()
  t.match(await stopped.return(undefined), { done: true })
})
