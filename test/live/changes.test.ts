import { once } from 'node:events'
import http from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { createLiveChanges } from '../../src/live/changes.js'
import { createChannel, type LiveReader } from '../../src/live/channel.js'
import type { LoaderTable } from '../../src/storage/tables.js'
import { LOADER } from '../support/dataproc.js'
import { until } from '../support/models.js'
import { pairHeaders, startGateway, type TestGateway } from '../support/start-gateway.js'

const PATH = '/api/v1/dataloaderapi/changes'

/** A table of numbers in memory: key → value, with the number of the last change. */
function memoryTable() {
  const rows = new Map<number, { change: number; value: number }>()
  const table = { tableId: 1, dataName: 'x', columnByName: new Map([['k', {}]]) } as unknown as LoaderTable
  let [last, isThere] = [0, true]
  const deps = {
    changes: {
      last: async () => last,
      async matching(_table: LoaderTable, after: number, limit: number) {
        const found = [...rows]
          .map(([k, { change, value }]) => ({ change, values: [k, value] }))
          .filter(({ change }) => change > after)
          .sort((a, b) => a.change - b.change)
          .slice(0, limit)
        await new Promise((resolve) => setImmediate(resolve))
        return {
          rows: found,
          until: found.length < limit ? Math.max(after, last) : (found.at(-1)?.change ?? after),
        }
      },
    },
    findTable: async () => (isThere ? table : undefined),
    print: async (_table: LoaderTable, found: { change: number; values: unknown[] }[]) =>
      found.map(({ change, values: [k, value] }) => ({
        rowId: change,
        geometry: null,
        properties: { k, value },
      })),
    env: () => ({ timeZoneMin: 0, nowUs: 0n }),
    log: { warn: (fields: object) => Promise.reject(new Error(JSON.stringify(fields))) },
  }
  return {
    ...{ rows, table, deps: deps as unknown as Parameters<typeof createChannel>[0] },
    put(k: number, value: number) {
      rows.set(k, { change: ++last, value })
    },
    drop() {
      isThere = false
    },
    last: () => last,
  }
}

/** A reader whose other side takes bytes only when it is told to. */
function memoryReader(cursor: number) {
  const state = { unsent: 0, isFrozen: false, text: '', drained: [] as (() => void)[] }
  const reader: LiveReader = {
    ...{ cursor, isBehind: false, isEnded: false },
    sink: {
      write(bytes) {
        state.text += Buffer.from(bytes).toString()
        if (state.isFrozen) state.unsent += bytes.byteLength + 100_000
      },
      unsentBytes: () => state.unsent,
      onDrain: (listener) => void state.drained.push(listener),
      end: (bytes) => {
        state.text += Buffer.from(bytes).toString()
      },
    },
  }
  return {
    reader,
    state,
    thaw() {
      state.isFrozen = false
      state.unsent = 0
      for (const listener of state.drained.splice(0)) listener()
    },
    events: () =>
      [...state.text.matchAll(/^id: (\d+)\nevent: change\ndata: (.*)$/gm)].map(([, id, data]) => ({
        id: Number(id),
        ...(JSON.parse(data ?? '').properties as { k: number; value: number }),
      })),
  }
}

const settled = async () => {
  for (let at = 0; at < 60; at++) await new Promise((resolve) => setImmediate(resolve))
}

t.test(
  'property: every reader sees each last state once and in order, however it freezes and comes late',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.record({ kind: fc.constant('put' as const), n: fc.integer({ min: 1, max: 400 }) }),
            fc.record({ kind: fc.constant('freeze' as const), n: fc.nat(3) }),
            fc.record({ kind: fc.constant('thaw' as const), n: fc.nat(3) }),
            fc.record({ kind: fc.constant('join' as const), n: fc.nat(100) }),
            fc.constant({ kind: 'wait' as const, n: 0 }),
          ),
          { minLength: 3, maxLength: 30 },
        ),
        async (steps) => {
          const table = memoryTable()
          for (let k = 0; k < 30; k++) table.put(k, k)
          const channel = createChannel(
            table.deps,
            table.table,
            { columns: [], conds: undefined },
            table.last(),
          )
          const readers = Array.from({ length: 4 }, () => memoryReader(table.last()))
          for (const { reader } of readers) channel.add(reader)
          let value = 0
          for (const { kind, n } of steps) {
            const at = readers[n % readers.length]
            if (kind === 'put') for (let k = 0; k < n; k++) table.put(k % 50, value++)
            if (kind === 'put') channel.pump()
            if (kind === 'freeze' && at !== undefined) at.state.isFrozen = true
            if (kind === 'thaw') at?.thaw()
            if (kind === 'wait') await settled()
            if (kind === 'join') {
              const late = memoryReader(Math.min(n, table.last()))
              readers.push(late)
              channel.add(late.reader)
            }
          }
          for (let round = 0; round < 5; round++) {
            for (const each of readers) each.thaw()
            channel.pump()
            await settled()
          }
          for (const { reader, events } of readers) {
            const seen = events()
            const ids = seen.map(({ id }) => id)
            if (ids.some((id, at) => at > 0 && id <= (ids[at - 1] ?? 0)))
              throw new Error(`order: ${ids.join(' ')}`)
            if (reader.cursor !== table.last())
              throw new Error(`ended at ${reader.cursor} of ${table.last()}`)
          }
          for (const [k, { change, value: now }] of table.rows)
            for (const { reader: _, events, state } of readers) {
              const found = events().findLast((one) => one.k === k)
              const start = /^id: (\d+)/m.exec(state.text)?.[1]
              if (found === undefined && start !== undefined && change >= Number(start))
                throw new Error(`no ${k}`)
              if (found !== undefined && (found.id !== change || found.value !== now))
                throw new Error(`${k} is old`)
            }
        },
      ),
      { numRuns: Number(process.env.LIVE_RUNS ?? 60) },
    )
  },
)

t.test('changes: a reader of a dropped table is told where it was, and readers are limited', async (t) => {
  const table = memoryTable()
  table.put(1, 1)
  let write: () => void = () => undefined
  const live = createLiveChanges({
    ...table.deps,
    watchWrites: (listener) => {
      write = listener
      return () => undefined
    },
    limits: { readers: 3, readersPerKey: 2 },
  })
  const request = { dataName: 'x', columns: [], conds: undefined, after: 0, keyId: 'a' }
  const [one, two, three, four] = [memoryReader(0), memoryReader(0), memoryReader(0), memoryReader(0)]
  const first = (await live.open(request))(one.reader.sink)
  ;(await live.open(request))(two.reader.sink)
  const begin = await live.open(request)
  t.throws(() => begin(three.reader.sink), { errorName: 'RATE_LIMITED', message: /changeReadersPerKey/ })
  ;(await live.open({ ...request, keyId: 'b' }))(three.reader.sink)
  const full = await live.open({ ...request, keyId: 'c' })
  t.throws(() => full(four.reader.sink), { errorName: 'RATE_LIMITED', message: /changeReaders\)/ })
  await settled()
  t.match(one.events(), [{ id: 1, k: 1, value: 1 }])
  first.close()
  first.close()
  t.equal(live.count(), 2)
  ;(await live.open({ ...request, keyId: 'c', after: undefined }))(four.reader.sink)
  table.drop()
  write()
  await until('the readers are told', () => four.state.text !== '')
  t.match(four.state.text, /event: end\ndata: \{"after":1,"reason":"the table was dropped"\}/)
})

/** Reads a stream of events until it is closed. */
async function listen(gateway: TestGateway, query: string, headers: Record<string, string> = {}) {
  const request = http.get(`${gateway.url}${PATH}/${query}`, {
    headers: { ...pairHeaders(gateway.admin), ...headers },
  })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const state = { text: '', isEnded: false }
  response.setEncoding('utf8')
  response.on('data', (chunk) => {
    state.text += chunk
  })
  response.on('end', () => {
    state.isEnded = true
  })
  const data = () => [...state.text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))
  return { response, state, data, stop: () => request.destroy() }
}

t.test('changes: over HTTP, with columns, conditions and resumption', async (t) => {
  const gateway = await startGateway(t)
  const put = (k: number, note: string) =>
    gateway.call(LOADER, 'loaderwebapi.add_record', {
      ...{ data_name: 'x', options: { if_exists: 'override' } },
      record_set: [
        { type: 'Feature', geometry: { type: 'Point', coordinates: [139, 35] }, properties: { k, note } },
      ],
    })
  await gateway.call(LOADER, 'loaderwebapi.register_loader', {
    ...{ data_name: 'x', unique_columns: ['k'] },
    record_def: { k: { udt_name: 'int4' }, note: { udt_name: 'text' } },
  })
  await put(1, 'old\nline')
  const all = await listen(gateway, 'x?after=0')
  const some = await listen(gateway, `x?columns=["k"]&conds=${encodeURIComponent('{">": ["k", 1]}')}`)
  t.match(all.response.headers, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  await put(2, 'two')
  await until('both have it', () => all.data().length === 2 && some.data().length === 1)
  t.match(all.data()[0], {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [139, 35] },
    properties: { k: 1, note: 'old\nline' },
  })
  t.same(some.data()[0].properties, { k: 2 })
  const [, id] = /id: (\d+)/.exec(some.state.text) ?? []
  all.stop()
  await put(1, 'new')
  const again = await listen(gateway, 'x', { 'Last-Event-ID': id ?? '' })
  await until('it went on', () => again.data().length === 1)
  t.match(again.data()[0], { properties: { k: 1, note: 'new' } })

  for (const [query, status, message] of [
    ['y', 404, /No table has the name/],
    ['x?after=-1', 400, /after: found/],
    ['x?after=999', 400, /found 999, expected at most 3/],
    ['x?columns=["z"]', 400, /columns: found .*z/],
    ['x?columns=k', 400, /expected JSON/],
    ['x?columns=7', 400, /JSON array of names/],
    [`x?conds=${'1'.repeat(10_001)}`, 400, /at most 10000 characters/],
    ['x?conds={"like":["k",1]}', 400, /./],
  ] as const) {
    const response = await fetch(`${gateway.url}${PATH}/${query}`, { headers: pairHeaders(gateway.admin) })
    t.equal(response.status, status, query)
    t.match(((await response.json()) as { error: { message: string } }).error.message, message, query)
  }
  await gateway.call(LOADER, 'loaderwebapi.drop_loader', { data_name: 'x' })
  await until('the readers are told', () => again.state.isEnded && some.state.isEnded)
  t.match(again.data().at(-1), { after: 3, reason: 'the table was dropped' })
})

t.test(
  'changes: a stop of the gateway ends the streams at once, not when running calls are cut',
  async (t) => {
    const gateway = await startGateway(t, { settings: { server: { drainMs: 600_000 } } })
    await gateway.call(LOADER, 'loaderwebapi.register_loader', {
      ...{ data_name: 'x', record_def: {}, unique_columns: ['start_datetime'] },
    })
    const stream = await listen(gateway, 'x')
    const stopped = gateway.gateway.stop()
    await until('the stream has ended', () => stream.state.isEnded)
    t.match(stream.data(), [{ after: 0, reason: 'the gateway stops' }])
    await stopped
  },
)
