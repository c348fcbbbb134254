import { rmSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { compressBatch } from '../../../src/feeds/batch/encode.js'
import { createS3Client } from '../../../src/files/s3/client.js'
import { createS3Store } from '../../../src/files/s3/store.js'
import { API_PATHS } from '../../../src/gateway/apis.js'
import { call, put, register, startNode, sync, until, untilFeed } from '../../support/feeds.js'
import {
  type Engines,
  type HubPlace,
  type HubProcess,
  hubCall,
  hubCli,
  makeHub,
  noHub,
  serveHub,
  startEngines,
} from '../../support/hub.js'
import { type KeyPair, pairHeaders, type TestGateway } from '../../support/start-gateway.js'
import { swiftOptions } from '../../support/swift.js'

const skip = noHub()
const COLUMNS = [
  { column_name: 'id', data_type: 'bigint' },
  { column_name: 'level', data_type: 'numeric(12,4)', nullable: true },
  { column_name: 'at', data_type: 'timestamptz', nullable: true },
  { column_name: 'raw', data_type: 'bytea', nullable: true },
  { column_name: 'place', data_type: 'geometry(Geometry,3857)', nullable: true },
]
const RECORDS = [
  ['9007199254740993', '1.5000', '0001-01-01 00:00:00.000001Z', 'AAEC/w==', 'POINT Z (1 2 3)'],
  [2, 'NaN', 'infinity', '', 'POINT EMPTY'],
  [3, null, null, null, null],
]

interface Cited {
  long_form: string
  checksum: string | null
  origin: string | null
}

const dataset = <T>(node: TestGateway, method: string, params: object): Promise<T> =>
  call<T>(node, API_PATHS.dataset, `dataset.${method}`, params)

/** A hub and what the tests ask of its processes. */
async function openHub(t: Test, engines: Engines, moved?: { place: HubPlace; admin: KeyPair }) {
  const place = moved?.place ?? (await makeHub(t, engines))
  const made = moved?.admin ?? JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout)
  const admin = pairHeaders(made)
  const ask = async <T>(process: HubProcess, method: string, params: object): Promise<T> => {
    const { body } = await hubCall(process, admin, API_PATHS.dataset, `dataset.${method}`, params)
    if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
    return body.result as T
  }
  const makeKey = async (): Promise<KeyPair> => {
    const made = await hubCli(place, 'key', 'create', '--name', 'van', '--scope', 'sync:write', '--json')
    return JSON.parse(made.stdout) as KeyPair
  }
  return { place, ask, makeKey }
}

/** Makes an upstream of a gateway at an address of a hub. */
async function connect(node: TestGateway, url: string, { apiKey, secret }: KeyPair): Promise<void> {
  await sync(node, 'create_upstream', { name: 'up', endpoint: url, apikey: apiKey, secret })
}

async function cite(node: TestGateway, label: string, source: string): Promise<Cited> {
  await dataset(node, 'citation.create', { citation_label: label, source })
  const conds = { '=': ['short_form', label] }
  const [info] = await until(
    () => dataset<Cited[]>(node, 'citation.list', { conds }),
    ([found]) => found?.checksum !== null,
  )
  return info as Cited
}

const send = (node: TestGateway, citation: string) => sync(node, 'create_feed', { citation, upstream: 'up' })

const untilDelivered = (node: TestGateway) =>
  untilFeed(node, ({ state, rows_behind }) => state === 'idle' && rows_behind === 0)

t.test('citations of gateways at a hub on engines', { skip }, async (t) => {
  const engines = await startEngines(t)

  await t.test('hub: a citation reads the same at every process as at its gateway', async (t) => {
    const { place, ask, makeKey } = await openHub(t, engines)
    const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
    const van = await startNode(t, path.join(place.dir, 'van'))
    await dataset(van, 'create', { dataset_name: 'all', columns: COLUMNS, key_columns: ['id'] })
    await dataset(van, 'record.put', { dataset_name: 'all', records: RECORDS })
    const info = await cite(van, 'report', 'all')
    await dataset(van, 'record.put', { dataset_name: 'all', records: [[4, null, null, null, null]] })
    await connect(van, one.url, await makeKey())
    await send(van, 'report')
    await untilDelivered(van)
    const label = { citation_label: info.long_form }
    const expected = await dataset(van, 'record.get', label)
    const columns = await dataset(van, 'get_columns', { dataset_label: info.long_form })
    for (const hub of [two, one]) {
      t.same(await ask(hub, 'record.get', label), expected)
      t.same(await ask(hub, 'record.get', { citation_label: 'report', order: '-id', limit: 1 }), [
        (expected as unknown[])[0],
      ])
      t.same(await ask(hub, 'get_columns', { dataset_label: info.long_form }), columns)
      const [copy] = await ask<Cited[]>(hub, 'citation.list', {})
      t.match(copy, { long_form: info.long_form, checksum: info.checksum, origin: /^[0-9a-f-]{36}$/ })
      t.same(await ask(hub, 'list', {}), [], 'its rows are no dataset')
    }
    t.same(await ask(one, 'citation.list', {}), await ask(two, 'citation.list', {}))

    await t.test('a process that starts later has it, too', async (t) => {
      const three = await serveHub(t, place, 'three')
      t.same(await ask(three, 'citation.list', {}), await ask(one, 'citation.list', {}))
      t.same(await ask(three, 'record.get', label), expected)
    })

    await t.test('doctor compares its object', async (t) => {
      const { stdout } = await hubCli(place, 'hub', 'doctor', '--json')
      const checks = (JSON.parse(stdout) as { checks: { name: string }[] }).checks
      t.match(
        checks.find(({ name }) => name === 'citations'),
        { state: 'ok', findings: [{ message: /^1 of the kind "citation"/ }] },
      )
    })
  })

  await t.test('hub: many rows in pieces, over a process that is stopped in between', async (t) => {
    const { place, ask, makeKey } = await openHub(t, engines)
    const one = await serveHub(t, place, 'one')
    const two = await serveHub(t, place, 'two')
    const van = await startNode(t, path.join(place.dir, 'van'))
    await register(van)
    const rows = Array.from({ length: 6000 }, (_, k) => ({ k, note: `n${k}`, speed: k / 3 }))
    for (let at = 0; at < rows.length; at += 3000) await put(van, rows.slice(at, at + 3000))
    const info = await cite(van, 'drive', 'seen')
    await put(van, [{ k: 1, note: 'later' }])
    await connect(van, one.url, await makeKey())
    await send(van, info.long_form)
    await untilFeed(van, ({ cursor }) => cursor >= 5000)
    const { port } = new URL(one.url)
    await one.stop()
    rmSync(path.join(place.dir, 'one'), { recursive: true, force: true })
    await serveHub(t, place, 'four', port) // another process at its address: it has no rows, or all of them
    await untilDelivered(van)
    const page = { citation_label: 'drive', offset: 5990, limit: 20 }
    t.same(await ask(two, 'record.get', page), await dataset(van, 'record.get', page))
    const [copy] = await ask<Cited[]>(two, 'citation.list', {})
    t.match(copy, { checksum: info.checksum })
  })

  await t.test('hub: rows that are not those of the offer are refused at every process', async (t) => {
    const { place, ask, makeKey } = await openHub(t, engines)
    const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
    const key = pairHeaders(await makeKey())
    const offer = (hub: HubProcess, more: object = {}) =>
      hubCall(hub, key, API_PATHS.sync, 'sync.offer_citation', { ...OFFER, ...more }).then(({ body }) => body)
    const rows = async (hub: HubProcess, text: string) => {
      const url = `${hub.url}/api/v2/sync/citations/${OFFER.checksum}/rows`
      const headers = { 'Content-Type': 'application/x-ndjson', 'Content-Encoding': 'zstd', ...key }
      const body = new Uint8Array(await compressBatch(text))
      return await (await fetch(url, { method: 'POST', headers, body })).json()
    }
    t.match(await rows(one, `${HEAD}\n[1]\n`), { error: { data: { name: 'UNKNOWN_FEED' } } })
    t.match(await offer(one), { result: { rows: 0, complete: false } })
    t.match(await rows(one, `${HEAD}\n[1]\n`), {
      error: { message: /arrived with rows of the SHA-256/, data: { name: 'CITATION_DIFFERS' } },
    })
    t.same(await ask(one, 'citation.list', {}), [])
    for (const hub of [one, two]) {
      const other = await offer(hub, { checksum: 'ef'.repeat(32) })
      t.match(other, { error: { message: /other rows before/, data: { name: 'CITATION_DIFFERS' } } })
      const foreign = NODE.replace('1', '2')
      t.match(await offer(hub, { origin: foreign }), { error: { data: { name: 'FORBIDDEN' } } })
    }
    t.match(await offer(two), { result: { rows: 0, complete: false } })
  })

  await t.test('hub: beside the datasets and citations that a move has brought', async (t) => {
    const place = await makeHub(t, engines)
    const from = path.join(place.dir, 'small')
    const small = await startNode(t, from)
    await dataset(small, 'create', { dataset_name: 'd', columns: [{ column_name: 'k', data_type: 'int' }] })
    await dataset(small, 'record.put', { dataset_name: 'd', records: [[1], [2]] })
    const old = await cite(small, 'old', 'd')
    await small.gateway.stop()
    const moved = await hubCli(place, 'hub', 'migrate', '--from', from)
    t.equal(moved.code, 0, moved.stderr)
    const { ask, makeKey } = await openHub(t, engines, { place, admin: small.admin })
    const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
    const van = await startNode(t, path.join(place.dir, 'van'))
    await dataset(van, 'create', { dataset_name: 'd', columns: [{ column_name: 'k', data_type: 'int' }] })
    await dataset(van, 'record.put', { dataset_name: 'd', records: [[7]] })
    const fresh = await cite(van, 'fresh', 'd')
    await connect(van, one.url, await makeKey())
    await send(van, 'fresh')
    await untilDelivered(van)
    for (const hub of [one, two]) {
      t.same(await ask(hub, 'record.get', { citation_label: 'old' }), [{ k: 1 }, { k: 2 }])
      t.same(await ask(hub, 'record.get', { citation_label: 'fresh' }), [{ k: 7 }])
      const cited = await ask(hub, 'citation.list', {})
      t.match(cited, [{ long_form: old.long_form }, { long_form: fresh.long_form }])
      t.match(await ask(hub, 'list', {}), [{ short_form: 'd' }])
      t.same(await ask(hub, 'record.list', { dataset_label: 'd' }), [{ k: 1 }, { k: 2 }])
      await t.rejects(ask(hub, 'record.put', { dataset_name: 'd', records: [[3]] }), /NOT_ON_HUB/)
    }
  })

  await t.test(
    'hub: without its object store a citation is not acknowledged, and sent on later',
    async (t) => {
      const { place, ask, makeKey } = await openHub(t, engines)
      const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
      const van = await startNode(t, path.join(place.dir, 'van'))
      await dataset(van, 'create', { dataset_name: 'd', columns: [{ column_name: 'k', data_type: 'int' }] })
      await dataset(van, 'record.put', { dataset_name: 'd', records: [[7]] })
      await cite(van, 'c', 'd')
      await connect(van, one.url, await makeKey())
      await engines.swift.kill()
      await send(van, 'c')
      const waiting = await untilFeed(van, ({ last_error }) => last_error !== null)
      t.match(waiting, { last_error: /object store|OBJECTS_UNAVAILABLE/i })
      t.same(await ask(two, 'citation.list', {}), [])
      await engines.swift.start()
      await untilDelivered(van)
      t.same(await ask(two, 'record.get', { citation_label: 'c' }), [{ k: 7 }])
    },
  )

  await t.test(
    'hub: a damaged object is named in the log, others are read; sent again it is mended',
    async (t) => {
      const { place, ask, makeKey } = await openHub(t, engines)
      const one = await serveHub(t, place, 'one')
      const van = await startNode(t, path.join(place.dir, 'van'))
      await dataset(van, 'create', { dataset_name: 'd', columns: [{ column_name: 'k', data_type: 'int' }] })
      await dataset(van, 'record.put', { dataset_name: 'd', records: [[1], [2]] })
      const key = await makeKey()
      await connect(van, one.url, key)
      await cite(van, 'first', 'd')
      await send(van, 'first')
      await untilDelivered(van)
      const client = createS3Client(swiftOptions(engines.swift, place.bucket))
      t.teardown(() => client.close())
      const prefix = 'fieldgate/datasets/'
      const objects = createS3Store({
        ...{ client, prefix, tempDir: path.join(place.dir, 'temp'), partBytes: 5e6, copyBytes: 1e6 },
      })
      const digests: string[] = []
      for await (const digest of objects.list()) digests.push(digest)
      t.equal(digests.length, 1)
      await objects.remove(digests[0] ?? '')
      const later = await cite(van, 'later', 'd')
      await send(van, later.long_form)
      await until(
        () => sync<{ rows_behind: number }[]>(van, 'list_feeds'),
        (feeds) => feeds.length === 2 && feeds.every(({ rows_behind }) => rows_behind === 0),
      )
      const two = await serveHub(t, place, 'two')
      t.match(await ask(two, 'citation.list', {}), [{ long_form: later.long_form }])
      t.match(two.running.stderr() + two.running.stdout(), /first_\d+.*cannot be read/)
      t.same(await ask(one, 'record.get', { citation_label: 'first' }), [{ k: 1 }, { k: 2 }])

      for (const { feed } of await sync<{ feed: string }[]>(van, 'list_feeds'))
        await sync(van, 'delete_feed', { feed })
      await sync(van, 'delete_upstream', { name: 'up' })
      await connect(van, two.url, key)
      await send(van, 'first')
      await untilDelivered(van)
      const three = await serveHub(t, place, 'three')
      for (const hub of [two, three])
        t.same(await ask(hub, 'record.get', { citation_label: 'first' }), [{ k: 1 }, { k: 2 }])
    },
  )
})

const NODE = '11111111-2222-4333-8444-555555555555'
const OFFER = {
  ...{ node: NODE, origin: NODE, long_form: 'c_1700000000', short_form: 'c', dataset_name: 'd' },
  ...{ dataset_realname: 'provenance.prov_1', created_at_us: 1.7e15, transaction_time_us: 1.6e15 },
  ...{ checksum: 'ab'.repeat(32), row_count: 1, key_columns: [] },
  columns: [{ name: 'k', data_type: 'int', type_text: 'integer', nullable: false }],
}
const HEAD = JSON.stringify({
  ...{ fieldgate_citation: 1, node: NODE, origin: NODE, long_form: OFFER.long_form },
  ...{ checksum: OFFER.checksum, after: 0, rows: 1 },
})
