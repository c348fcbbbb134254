import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { cli } from '../../support/run-cli.js'
import { startGateway } from '../../support/start-gateway.js'

const PATH = '/api/v2/dataset/jsonrpc'
const ROWS = 300
const PAGE = 40

t.test(
  'dataset: pages of a citation see one state while others write, cite, delete and vacuum',
  async (t) => {
    const { call, dataDir } = await startGateway(t)
    const rpc = async (method: string, params: object) => {
      const { body } = await call(PATH, method, params)
      if (body.error !== undefined) throw new Error(`${method}: ${body.error.message}`)
      return body.result
    }
    await rpc('dataset.create', {
      dataset_name: 'd',
      columns: ['k', 'v'].map((column_name) => ({ column_name, data_type: 'int' })),
      key_columns: ['k'],
    })
    // every call writes one value to all rows, so a state that was read whole has one value
    const writeAll = (v: number) =>
      rpc('dataset.record.put', {
        dataset_name: 'd',
        records: Array.from({ length: ROWS }, (_, k) => [k, v]),
        on_conflict: 'update',
      })
    await writeAll(0)
    let isOver = false
    let written = 0
    const writer = async (first: number) => {
      for (let v = first; !isOver; v += 2) {
        await writeAll(v)
        if (v % 5 === 0)
          await rpc('dataset.record.delete', { dataset_name: 'd', condition: { '>': ['k', ROWS - 10] } })
        written++
      }
    }
    const vacuums = async () => {
      const codes = new Set<number>()
      for (; !isOver; await sleep(20)) {
        codes.add((await cli(path.dirname(dataDir), ['vacuum', '--data-dir', dataDir])).code)
      }
      t.same([...codes], [0], 'vacuum by the command line beside it')
    }
    const reader = async () => {
      const { long_form: label } = await rpc('dataset.citation.create', {
        citation_label: 'live',
        source: 'd',
      })
      const once = await readPages(rpc, label)
      const again = await readPages(rpc, label)
      t.equal(new Set(once.map(({ v }) => v)).size, 1, `one state of ${once.length} records`)
      t.same(again, once, 'and the same one later')
      await rpc('dataset.citation.delete', { citation_label: label })
    }
    const background = [writer(1), writer(2), vacuums()]
    for (let round = 0; round < 2; round++) await Promise.all([reader(), reader(), reader()])
    isOver = true
    await Promise.all(background)
    t.ok(written > 4, `${written} rewrites meanwhile`)
  },
)

async function readPages(
  rpc: (method: string, params: object) => Promise<{ k: number; v: number }[]>,
  label: string,
): Promise<{ k: number; v: number }[]> {
  const rows: { k: number; v: number }[] = []
  for (let offset = 0; ; offset += PAGE) {
    const page = await rpc('dataset.record.get', { citation_label: label, offset, limit: PAGE })
    rows.push(...page)
    if (page.length < PAGE) return rows
  }
}

t.test('dataset: a checksum is pending at first, and there soon; it outlives a restart', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  const first = await startGateway(t, { dataDir })
  const rpc = async (method: string, params: object) => (await first.call(PATH, method, params)).body.result
  await rpc('dataset.create', { dataset_name: 'd', columns: [{ column_name: 'k', data_type: 'int' }] })
  await rpc('dataset.record.put', {
    dataset_name: 'd',
    records: Array.from({ length: 25_000 }, (_, k) => [k]),
  })
  const made = await rpc('dataset.citation.create', { citation_label: 'c', source: 'd' })
  t.match(made, { checksum: null, checksum_state: 'pending' })
  await first.gateway.stop() // mostly before the job worker is done
  const second = await startGateway(t, { dataDir })
  for (;;) {
    const { body } = await second.call(
      PATH,
      'dataset.citation.list',
      {},
      { APIKey: first.admin.apiKey, Secret: first.admin.secret },
    )
    const [info] = body.result
    if (info.checksum_state === 'pending') continue
    t.match(info, { checksum: /^[0-9a-f]{64}$/, long_form: made.long_form, created_at: made.created_at })
    break
  }
})

t.test(
  'dataset: a cited loader table keeps its overrides, and cannot be dropped while it is cited',
  async (t) => {
    const { call } = await startGateway(t)
    const loader = async (method: string, params: object) =>
      (await call('/api/v1/dataloaderapi/jsonrpc', `loaderwebapi.${method}`, params)).body
    const dataset = async (method: string, params: object) =>
      (await call(PATH, `dataset.${method}`, params)).body
    await loader('register_loader', {
      data_name: 'events',
      record_def: {
        name: { udt_name: 'text' },
        secret: { udt_name: 'text', need_crypto: true, is_nullable: true },
      },
      unique_columns: ['name'],
    })
    const add = (name: string, x: number, secret: string) =>
      loader('add_record', {
        data_name: 'events',
        options: { if_exists: 'override' },
        record_set: [
          {
            type: 'Feature',
            geometry: { type: 'Point', coordinates: [x, 0] },
            properties: { name, secret, start_datetime: '2025-01-02 03:04:05' },
          },
        ],
      })
    await add('one', 1, 'first')
    const cited = await dataset('citation.create', { citation_label: 'c', source: 'event.events_tbl_0' })
    t.match(cited.result, { dataset_name: 'events', dataset_realname: 'event.events_tbl_0' })
    await add('one', 50, 'second')
    await add('two', 2, 'third')
    const read = await dataset('record.get', { citation_label: 'c' })
    t.strictSame(read.result, [
      {
        start_datetime: { _type: 'datetime', val: '2025-01-02T03:04:05.000000+09:00' },
        end_datetime: null,
        location: { type: 'Point', coordinates: [1, 0] },
        name: 'one',
        secret: 'first',
      },
    ])
    t.match(await dataset('get_columns', { dataset_label: 'events' }), {
      result: [
        { column_name: 'start_datetime', data_type: 'timestamp with time zone' },
        { column_name: 'end_datetime' },
        { column_name: 'location', data_type: 'geometry' },
        { column_name: 'name', data_type: 'text' },
        { column_name: 'secret' },
        { column_name: '_transaction_range', data_type: 'tstzrange' },
      ],
    })
    const dropped = await loader('drop_loader', { data_name: 'events' })
    t.match(dropped.error, { data: { name: 'TABLE_CITED', citations: [cited.result.long_form] } })
    await dataset('citation.delete', { citation_label: 'c' })
    t.match(await loader('drop_loader', { data_name: 'events' }), { result: { data_name: 'events' } })
  },
)

t.test('dataset: the job worker keeps what it overrides once a table is cited', async (t) => {
  const { call } = await startGateway(t)
  const loader = (method: string, params: object) =>
    call('/api/v1/dataloaderapi/jsonrpc', `loaderwebapi.${method}`, params)
  const dataset = async (method: string, params: object) =>
    (await call(PATH, `dataset.${method}`, params)).body.result
  await loader('register_loader', {
    data_name: 'big',
    record_def: { k: { udt_name: 'int4' }, v: { udt_name: 'int4' } },
    unique_columns: ['k'],
  })
  const add = (v: number) =>
    loader('add_record', {
      data_name: 'big',
      options: { if_exists: 'override' },
      record_set: Array.from({ length: 600 }, (_, k) => ({
        type: 'Feature',
        geometry: null,
        properties: { k, v },
      })),
    })
  await add(1) // more than the main thread takes upon itself: its thread keeps its statements from here on
  const { long_form } = await dataset('citation.create', { citation_label: 'c', source: 'big' })
  await add(2)
  const records = await dataset('record.get', { citation_label: long_form, columns: ['v'] })
  t.equal(records.length, 600)
  t.same([...new Set(records.map(({ v }: { v: number }) => v))], [1])
})
