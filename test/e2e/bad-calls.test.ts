import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { ERRORS } from '../../src/errors.js'
import { writeGraphFile } from '../../src/mapbuild/graph/write-graph.js'
import { DATAPROC_BAD_CALLS } from '../support/bad-calls/dataproc.js'
import { DATASET_BAD_CALLS } from '../support/bad-calls/dataset.js'
import { fleetBadCalls } from '../support/bad-calls/fleet.js'
import { LOADER_BAD_CALLS } from '../support/bad-calls/loader.js'
import { MAP_BAD_CALLS } from '../support/bad-calls/map.js'
import { modelBadCalls } from '../support/bad-calls/models.js'
import { SESSION_BAD_CALLS } from '../support/bad-calls/session.js'
import { CITED, OFFERED, syncBadCalls } from '../support/bad-calls/sync.js'
import type { BadCall, BadCalls, Standing } from '../support/bad-calls/types.js'
import { dumpDataDir } from '../support/data-dump.js'
import { makeModule } from '../support/dataproc.js'
import { matchGolden, messageList } from '../support/golden.js'
import { makeGraph } from '../support/make-graph.js'
import { DATA, FL, LOCAL_SYNC, MODELS, putModel, transfersOf, until } from '../support/models.js'
import { newKeyPair } from '../support/signing-keys.js'
import { pairHeaders, post, startGateway, type TestGateway } from '../support/start-gateway.js'
import { feature } from '../support/tables.js'
import { at, town } from '../support/town.js'

/** An area of more cells of degree 5 than an answer may have. */
const WIDE = {
  type: 'Polygon',
  coordinates: [
    [
      [130, 30],
      [140, 30],
      [140, 40],
      [130, 40],
      [130, 30],
    ],
  ],
}

const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const DATASET = '/api/v2/dataset/jsonrpc'
const SYNC = '/api/v2/sync/jsonrpc'

/**
 * Errors of the gateway's state, or of what a module does, and not of a call's words: each has a test of its
 * own elsewhere.
 */
const OF_THE_STATE: readonly string[] = [
  'TOO_EXPENSIVE', // it depends on the texts that are stored
  ...['BUSY', 'TIME_LIMIT', 'SEARCH_TOO_LARGE', 'DISK_FULL', 'TOO_MANY_UPLOADS', 'TOO_MANY_SESSIONS'],
  ...['FEED_BEHIND', 'UPSTREAM_UNREACHABLE', 'UPSTREAM_REFUSED', 'NO_AGGREGATED_MODEL', 'BAD_DELTA'],
  ...['TOKEN_USED_UP', 'GATEWAY_KNOWN', 'GATEWAY_REVOKED', 'GATEWAY_IN_USE'],
  ...['ALREADY_JOINED', 'UPSTREAM_EXISTS', 'TRIGGER_EXISTS'],
  ...['MODULE_FAILED', 'MODULE_LIMIT', 'BAD_OUTPUT', 'MODEL_DAMAGED', 'BAD_BASE_MAP'],
]

/** What any method must refuse. */
const ANY_METHOD: readonly BadCall[] = [
  [[1, 2], 'INVALID_PARAMS', /Invalid params: \$/],
  [{ no_such_param: 1 }, 'INVALID_PARAMS', /no_such_param|\(and \d+ more\)|\$/],
  [JSON.parse('{"__proto__":{"x":1}}'), 'INVALID_PARAMS', /\$/],
]

interface DiscoveredMethod {
  name: string
  errors: { data: { name: string } }[]
  'x-path': string
}

t.test('bad calls: every method has a table with each error that it declares', async (t) => {
  const gateway = await startGateway(t)
  const tables = tablesOf({
    nodeId: 'n',
    modelId: 'm',
    sha256: 's',
    feedId: 'f',
    goneFeedId: 'g',
    citedFeedId: 'd',
  })
  const methods = await methodsOf(gateway)
  t.same(Object.keys(tables).sort(), methods.map(({ name }) => name).sort(), 'each method has one')
  const common = methods
    .map(({ errors }) => errors.map(({ data }) => data.name))
    .reduce((shared, names) => shared.filter((name) => names.includes(name)))
  for (const { name, errors } of methods) {
    const own = errors.map(({ data }) => data.name).filter((error) => !common.includes(error))
    const shown = new Set<string>(tables[name]?.map(([, error]) => error))
    t.same(
      own.filter((error) => !shown.has(error) && !OF_THE_STATE.includes(error)),
      [],
      `${name}: its errors without a bad call`,
    )
  }
  const elsewhere = testTexts()
  for (const error of OF_THE_STATE) t.ok(elsewhere.includes(error), `${error} is provoked by another test`)
})

t.test('bad calls: each gets its error, over JSON-RPC and REST, and nothing changes', async (t) => {
  const { gateway, standing } = await prepare(t)
  const tables = tablesOf(standing)
  const before = dumpDataDir(gateway.dataDir)
  t.ok(before.length > 30, 'there is something to change')
  const messages = messageList(t)
  for (const { name, 'x-path': apiPath } of await methodsOf(gateway)) {
    for (const [params, error, message] of [...ANY_METHOD, ...(tables[name] ?? [])]) {
      const what = `${name} ${JSON.stringify(params)?.slice(0, 120)}`
      const rpc = await gateway.call(apiPath, name, params)
      t.equal(rpc.body.error?.data?.name, error, `${what}: ${JSON.stringify(rpc.body).slice(0, 300)}`)
      t.match(rpc.body.error?.message, message, what)
      t.equal(rpc.body.error?.code, ERRORS[error].code)
      if (rpc.body.error !== undefined) messages.add(name, rpc.body.error)
      const rest = await post(
        `${gateway.url}${apiPath}/call/${name}`,
        JSON.stringify(params),
        pairHeaders(gateway.admin),
      )
      t.match([rest.status, rest.body.name], [ERRORS[error].status, error], `${what}, REST`)
      t.same(dumpDataDir(gateway.dataDir), before, `${what}: nothing changed`)
    }
  }
  matchGolden(t, 'messages-of-methods.txt', messages.text())
})

function tablesOf(standing: Standing): BadCalls {
  return {
    ...SESSION_BAD_CALLS,
    ...DATAPROC_BAD_CALLS,
    ...LOADER_BAD_CALLS,
    ...MAP_BAD_CALLS,
    ...DATASET_BAD_CALLS,
    ...modelBadCalls(standing),
    ...syncBadCalls(standing),
    ...fleetBadCalls(standing),
  }
}

async function methodsOf(gateway: TestGateway): Promise<DiscoveredMethod[]> {
  const document = (await (await fetch(`${gateway.url}/openrpc.json`)).json()) as {
    methods: DiscoveredMethod[]
  }
  return document.methods
}

/** The sources of all other tests. */
function testTexts(): string {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('bad-calls'))
    .map((name) => readFileSync(path.join('test', name), 'utf8'))
    .join('\n')
}

/** A gateway that has something of everything. */
async function prepare(t: Test): Promise<{ gateway: TestGateway; standing: Standing }> {
  const dataDir = path.join(t.testdir(), 'data')
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  writeGraphFile(path.join(dataDir, 'maps', 'town.graph'), makeGraph(townWithIsland()))
  makeModule(path.join(dataDir, 'modules'), 'm', { run: 'exit 0', gone: '' })
  rmSync(path.join(dataDir, 'modules', 'm', 'gone.sh'))
  const gateway = await startGateway(t, {
    dataDir,
    settings: {
      modelStore: { autoCreate: false, signedKinds: ['signed'], trustedKeys: [newKeyPair().publicPem] },
      sync: { ...LOCAL_SYNC, retryBaseS: 3600, retryCapS: 3600 },
      limits: { callsPerMinutePerKey: 1_000_000 },
    },
  })
  const call = async (apiPath: string, method: string, params: object) => {
    const { body } = await gateway.call(apiPath, method, params)
    if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
    return body.result
  }
  await fillTables(call)
  const model = await fillStores(gateway, call)
  const feeds = await fillFeeds(call)
  await call('/api/v2/fleet/jsonrpc', 'fleet.set_profile', { name: 'field', profile: {} })
  const nodeId = await nodeIdOf(gateway)
  return { gateway, standing: { nodeId, modelId: model.model_id, sha256: model.model_sha256, ...feeds } }
}

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
type Call = (apiPath: string, method: string, params: object) => Promise<any>

/** Five by five crossings, and a street to the east that no way leads to. */
function townWithIsland() {
  const { junctions, roads } = town()
  const from = junctions.length
  junctions.push(at(9, 0), at(10, 0))
  roads.push({ from, to: from + 1, speed: [50, 50], name: 'Island' })
  return { junctions, roads }
}

async function fillTables(call: Call): Promise<void> {
  const INT = { udt_name: 'int4' }
  const TEXT = { udt_name: 'text', is_nullable: true }
  const tables: [name: string, record_def: object][] = [
    ['x', { k: INT, name: { udt_name: 'varchar', length: 5, is_nullable: true } }],
    ['cited', { k: INT }],
    ['flood', { k: INT, risk: INT }],
    ['wide', { k: INT, risk: INT }],
    [
      'f',
      {
        k: INT,
        name: { udt_name: 'text' },
        type: TEXT,
        prefix: INT,
        path: { udt_name: 'text' },
        photo: {
          udt_name: 'file',
          file_name_column: 'name',
          file_type_column: 'type',
          file_prefixid_column: 'prefix',
          file_pathid_column: 'path',
          file_relativepath_property: 'where',
        },
      },
    ],
  ]
  for (const [data_name, record_def] of tables)
    await call(LOADER, 'loaderwebapi.register_loader', { data_name, record_def, unique_columns: ['k'] })
  const records: [data_name: string, properties: Record<string, unknown>][] = [
    ['x', { k: 1 }],
    ['cited', { k: 1 }],
    ['flood', { k: 1, risk: 5 }],
    ['wide', { k: 1, risk: 5 }],
    ['f', { k: 1, photo: Buffer.from('photo').toString('base64'), where: 'a/b.jpg' }],
  ]
  for (const [data_name, properties] of records)
    await call(LOADER, 'loaderwebapi.add_record', {
      data_name,
      record_set: [
        data_name === 'wide'
          ? { type: 'Feature', geometry: WIDE, properties }
          : feature([139, 35], properties),
      ],
    })
  const columns = [
    { column_name: 'k', data_type: 'int' },
    { column_name: 'name', data_type: 'varchar(5)' },
  ]
  await call(DATASET, 'dataset.create', { dataset_name: 'd', columns, key_columns: ['k'] })
  await call(DATASET, 'dataset.record.put', { dataset_name: 'd', records: [[1, 'a']] })
  for (const [citation_label, source] of [
    ['c', 'd'],
    ['of-cited', 'cited'],
  ] as const) {
    await call(DATASET, 'dataset.citation.create', { citation_label, source })
    await until('the checksum is there', async () => {
      const list = await call(DATASET, 'dataset.citation.list', {})
      return list.every((citation: { checksum_state: string }) => citation.checksum_state === 'done')
    })
  }
}

/** Feeds to an upstream where nobody listens; the first try has failed, and the next is far. */
async function fillFeeds(call: Call): Promise<Pick<Standing, 'feedId' | 'goneFeedId' | 'citedFeedId'>> {
  const record_def = { k: { udt_name: 'int4' } }
  await call(LOADER, 'loaderwebapi.register_loader', { data_name: 'gone', record_def, unique_columns: ['k'] })
  const endpoint = 'http://127.0.0.1:1'
  await call(SYNC, 'sync.create_upstream', { name: 'up', endpoint, apikey: 'k', secret: 's' })
  const { feed: feedId } = await call(SYNC, 'sync.create_feed', { table: 'x', upstream: 'up' })
  const { feed: goneFeedId } = await call(SYNC, 'sync.create_feed', { table: 'gone', upstream: 'up' })
  const cited = { citation: 'c', upstream: 'up' }
  const { feed: citedFeedId } = await call(SYNC, 'sync.create_feed', cited)
  for (const feed of [feedId, goneFeedId, citedFeedId])
    await call(SYNC, 'sync.update_feed', { feed, enabled: false })
  await call(LOADER, 'loaderwebapi.drop_loader', { data_name: 'gone' })
  await call(SYNC, 'sync.offer_table', OFFERED)
  await call(SYNC, 'sync.offer_citation', CITED)
  await until('nothing is sent any more', async () => {
    const feeds = await call(SYNC, 'sync.list_feeds', {})
    return feeds.every(({ state }: { state: string }) => state === 'disabled')
  })
  return { feedId, goneFeedId, citedFeedId }
}

/** @returns the model in `rain` */
async function fillStores(gateway: TestGateway, call: Call) {
  for (const model_store_ddc of ['rain', 'alone', 'stuck'])
    await call(MODELS, 'model_store.create', { model_store_ddc })
  const upstream = {
    upstream_endpoint: `http://127.0.0.1:1${FL}`,
    upstream_apikey: 'k',
    upstream_secret: 's',
    upstream_model_store_ddc: 'there',
  }
  await call(FL, 'fl.create_upstream_info', { model_store_ddc: 'rain', enabled: false, ...upstream })
  await call(FL, 'fl.create_upstream_info', { model_store_ddc: 'stuck', ...upstream })
  const bytes = Buffer.from('abc')
  await putModel(gateway, bytes, { data: { ...DATA, model_store_ddc: 'stuck' } })
  const { body } = await putModel(gateway, bytes, { data: { ...DATA, model_store_ddc: 'rain' } })
  await until('the first attempt failed, and the next is far', async () => {
    const transfers = await transfersOf(gateway)
    return (
      transfers.length > 0 && transfers.every(({ attempts, state }) => attempts > 0 && state === 'queued')
    )
  })
  return body.result ?? body
}

/** As it is told with every model. */
async function nodeIdOf(gateway: TestGateway): Promise<string> {
  const line = dumpDataDir(gateway.dataDir).find(
    (text) => text.startsWith('meta: ') && text.includes('"node_id"'),
  )
  return JSON.parse(line?.slice(line.indexOf('{')) ?? '{}').value
}
