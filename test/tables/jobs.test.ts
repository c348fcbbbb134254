import t from 'tap'
import { badRecord } from '../../src/storage/records/read-records.js'
import { loaderJobs } from '../../src/tables/jobs.js'
import { rejectsWith } from '../support/rejects-with.js'
import { workOf } from '../support/work.js'

const TABLE = { dataName: 'x', tableId: 1, ifExists: 'skip', nowUs: 0 }

/** Runs `loader.lines` over a store that refuses the record of an index. */
function putLines(text: string, refused?: number) {
  const bytes = new Uint8Array(Buffer.from(text))
  const tables = {
    async put(_table: unknown, records: Iterable<unknown>) {
      let upload = 0
      for (const _ of records) {
        if (upload === refused) throw badRecord(upload, { column: 'k', reason: 'found 1, expected 2' })
        upload++
      }
      return { counters: { upload, duplicate: 0, insert: upload, update: 0 }, isMergeDue: false }
    },
  }
  const handler = loaderJobs({ tables, valueBytes: 1000 } as never)['loader.lines']
  const result = Promise.resolve(handler?.({ ...TABLE, batch: { bytes, separator: '\n' } }, workOf()))
  return { bytes, result }
}

t.test('loader.lines: the bytes of a batch are freed when it is stored', async (t) => {
  const { bytes, result } = putLines('1\n\n2\n')
  t.match(await result, { counters: { upload: 2 } })
  t.ok(bytes.buffer.detached)
})

t.test('loader.lines: the bytes of a batch are freed after a fault, whose line they told', async (t) => {
  const { bytes, result } = putLines('1\n\n2\n3\n', 1)
  const data = { line: 2, column: 'k', reason: 'found 1, expected 2' }
  await rejectsWith(t, result, 'BAD_RECORD', { data })
  t.ok(bytes.buffer.detached)
})
