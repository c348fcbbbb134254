import t from 'tap'
import { AppError } from '../../../../src/errors.js'
import { ARCHIVE } from '../../../../src/gateway/hub/datasets/named-objects.js'
import { type DatasetSweepDeps, sweepDatasets } from '../../../../src/gateway/hub/datasets/sweep.js'
import { writeArchive } from '../../../../src/storage/sqlite/move/archive.js'
import { FREE_LEASE } from '../../../../src/storage/work/sweep-lease.js'
import { openDatasets } from '../../../support/datasets.js'
import { feature, openTables } from '../../../support/tables.js'

const PHOTO = [
  { name: 'n', udtName: 'int4' as const, isNullable: false },
  {
    ...{ name: 'photo', udtName: 'file' as const },
    file: {
      ...{ nameColumn: 'photo_name', typeColumn: 'photo_type', prefixIdColumn: 'photo_prefix' },
      ...{ pathIdColumn: 'photo_path', relativePathProperty: 'photo_rel' },
    },
  },
  { name: 'photo_name', udtName: 'text' as const },
  { name: 'photo_type', udtName: 'text' as const },
  { name: 'photo_prefix', udtName: 'int4' as const },
  { name: 'photo_path', udtName: 'text' as const },
]
const DAY_MS = 86_400_000
const NOW_MS = 100 * DAY_MS
const digest = (n: number) => n.toString(16).padStart(64, '0')
const old = (n: number) => ({ sha256: digest(n), putAtMs: NOW_MS - DAY_MS })

/** A bucket with some objects, of which a citation names the first. */
function openBucket(objects: { sha256: string; putAtMs: number }[], given: Partial<DatasetSweepDeps> = {}) {
  const removed: string[] = []
  const lines: unknown[] = []
  const log = (fields: unknown, text?: string) => void lines.push([fields, text])
  const deps: DatasetSweepDeps = {
    bytes: {
      async *listAged() {
        yield* objects
      },
      localFile: async () => undefined,
      remove: async (sha256) => void removed.push(sha256),
    },
    rows: { after: async () => [{ origin: 'x', longForm: 'x_1', sha256: digest(1), seq: 1 }] },
    meta: { noted: async () => undefined },
    lease: FREE_LEASE,
    log: { info: log, warn: log } as never,
    nowMs: () => NOW_MS,
    ...given,
  }
  return { deps, removed, lines }
}

t.test('sweep of datasets: objects that nothing names go once they are a day old', async (t) => {
  const young = { sha256: digest(3), putAtMs: NOW_MS - DAY_MS + 1 }
  const { deps, removed } = openBucket([old(1), old(2), young])
  await sweepDatasets(deps)
  t.same(removed, [digest(2)])
})

t.test('sweep of datasets: the archive of a move and the files of its rows stay', async (t) => {
  const dir = t.testdir()
  const tables = openTables(`${dir}/data.db`)
  const table = tables.register('photos', PHOTO, ['n'])
  const photo = Buffer.from('a photo').toString('base64')
  await tables.put(table, [feature([1, 2], { n: 1, photo, photo_name: 'x', photo_type: 'y' })])
  const opened = openDatasets(`${dir}/data.db`)
  await opened.store.cite('before', 'photos')
  await opened.close()
  tables.data.close()
  const file = `${dir}/archive.db`
  t.ok(writeArchive(`${dir}/data.db`, file))
  const [named = ''] = tables.files.keys()
  const { deps, removed } = openBucket([old(1), old(2), old(4), { ...old(5), sha256: named }])
  const meta = { noted: async (name: string) => (name === ARCHIVE ? digest(4) : undefined) }
  await sweepDatasets({ ...deps, meta, bytes: { ...deps.bytes, localFile: async () => file } })
  t.same(removed, [digest(2)])
  await t.rejects(sweepDatasets({ ...deps, meta }), { message: /the bucket lacks the object datasets\// })
  t.same(removed, [digest(2)], 'nothing goes where the files of the archive are not known')
})

t.test('sweep of datasets: many objects without a row stay', async (t) => {
  const { deps, removed, lines } = openBucket(Array.from({ length: 12 }, (_, n) => old(n + 1)))
  await sweepDatasets(deps)
  t.same(removed, [])
  t.match(lines, [[{ held: 11 }, /too many/]])
})

t.test(
  'sweep of datasets: nothing goes while objects are stored, or once the right to remove has ended',
  async (t) => {
    const { deps, removed } = openBucket([old(2), old(3)])
    await sweepDatasets({ ...deps, lease: { ...FREE_LEASE, remove: async () => undefined } })
    t.same(removed, [])
    let confirmed = 0
    let released = 0
    const removal = {
      async confirm() {
        if (++confirmed > 1) throw new AppError('BUSY', { retryAfterS: 5 }, { message: 'too long' })
      },
      release: async () => void released++,
    }
    await t.rejects(sweepDatasets({ ...deps, lease: { ...FREE_LEASE, remove: async () => removal } }))
    t.same(removed, [digest(2)])
    t.equal(released, 1)
  },
)
