import { randomBytes } from 'node:crypto'
import path from 'node:path'
import t from 'tap'
import { applied, type BundleNode, introduce, startBundleNode } from '../support/bundles.js'
import { call, type FeedInfo, put, register, sync, until, untilFeed } from '../support/feeds.js'

const ROWS = 6000

interface CitationInfo {
  long_form: string
  checksum: string | null
  origin: string | null
}

const dataset = <T>({ gateway }: BundleNode, method: string, params: object): Promise<T> =>
  call<T>(gateway, '/api/v2/dataset/jsonrpc', `dataset.${method}`, params)

const citationsOf = (node: BundleNode) => dataset<CitationInfo[]>(node, 'citation.list', {})

const feedOf = async ({ gateway }: BundleNode) => (await sync<FeedInfo[]>(gateway, 'list_feeds'))[0]?.feed

const pageOf = (node: BundleNode, offset: number) =>
  dataset<unknown[]>(node, 'record.get', { citation_label: 'drive', offset, limit: 5 })

/** Two gateways that know each other's keys, and a citation of the first one that goes to the second by bundles. */
async function startPair(t: Parameters<typeof startBundleNode>[0] & { testdir(): string }) {
  const dir = t.testdir()
  const [van, base] = [await startBundleNode(t, dir, 'van'), await startBundleNode(t, dir, 'base')]
  await introduce(dir, van, base)
  await register(van.gateway)
  const rows = Array.from({ length: ROWS }, (_, k) => ({ k, note: randomBytes(20).toString('hex') }))
  await put(van.gateway, rows.slice(0, 3000))
  await put(van.gateway, rows.slice(3000))
  await dataset(van, 'citation.create', { citation_label: 'drive', source: 'seen' })
  const [info] = await until(
    () => citationsOf(van),
    ([found]) => found?.checksum !== null,
  )
  await put(van.gateway, [{ k: 1, note: 'later' }])
  await van.run(['sync', 'upstream', 'add', 'base', '--no-network'])
  await sync(van.gateway, 'create_feed', { citation: info!.long_form, upstream: 'base' })
  const fileOf = (name: string) => path.join(dir, name)
  return {
    ...{ van, base, info: info!, fileOf },
    async write(from: BundleNode, name: string, flags: readonly string[] = []) {
      return await from.bundle(['write', fileOf(name), ...flags])
    },
  }
}

t.test('bundles: a citation reads the same at the receiver, and its acknowledgement ends it', async (t) => {
  const { van, base, info, fileOf, write } = await startPair(t)
  await write(van, '1')
  t.match(await applied(base, fileOf('1')), {
    bundles: [{ feeds: [{ table: info.long_form, written: ROWS, batches: 2, known: 0, keptOut: null }] }],
  })
  const [copy] = await citationsOf(base)
  t.match(copy, { long_form: info.long_form, checksum: info.checksum, origin: /^[0-9a-f-]{36}$/ })
  t.same(await pageOf(base, 0), await pageOf(van, 0))
  t.same(await pageOf(base, ROWS - 3), await pageOf(van, ROWS - 3))
  t.match(await applied(base, fileOf('1')), {
    bundles: [{ feeds: [{ written: 0, known: 2, keptOut: null }] }],
  })
  await write(base, 'back')
  t.match(await applied(van, fileOf('back')), { bundles: [{ acknowledged: { feeds: [/./] } }] })
  await untilFeed(van.gateway, ({ cursor, rows_behind }) => cursor === ROWS && rows_behind === 0)
  t.match(await write(van, '2'), /For base: 0 rows, 0 models/, 'what is there does not go again')

  await dataset(base, 'citation.delete', { citation_label: 'drive' })
  const early = await applied(base, fileOf('2'), 1)
  t.match(early.bundles[0]?.feeds[0]?.keptOut, /it goes on after row 6000, but 0 rows are here/)
  await write(base, 'back 2')
  await applied(van, fileOf('back 2'))
  await write(van, '3')
  await applied(base, fileOf('3'))
  t.match(await citationsOf(base), [{ checksum: info.checksum }], 'one that was deleted there is sent again')

  await sync(van.gateway, 'delete_feed', { feed: await feedOf(van) })
  await write(van, '4')
  await applied(base, fileOf('4'))
  await dataset(base, 'citation.delete', { citation_label: 'drive' })
  const old = await applied(base, fileOf('3'), 1)
  t.match(
    old.bundles[0]?.feeds[0]?.keptOut,
    /older than another one that was applied, and the citation is not/,
  )
  t.same(await citationsOf(base), [])
})

t.test(
  'bundles: a citation on several sticks; a missing one is a gap, and nothing is read before the last',
  async (t) => {
    const { van, base, info, fileOf, write } = await startPair(t)
    t.match(await write(van, '1', ['--max-bytes', '130000']), /left for the next bundle: rows of drive_/)
    await write(van, '2', ['--continue'])
    const early = await applied(base, fileOf('2'), 1)
    t.match(early.bundles[0]?.feeds[0], {
      written: 0,
      keptOut: /it goes on after row 5000, but 0 rows are here/,
    })
    t.match(await applied(base, fileOf('1')), { bundles: [{ feeds: [{ written: 5000, keptOut: null }] }] })
    t.same(await citationsOf(base), [], 'it is not whole')
    t.match(await applied(base, fileOf('2')), { bundles: [{ feeds: [{ written: 1000, keptOut: null }] }] })
    t.match(await citationsOf(base), [{ long_form: info.long_form, checksum: info.checksum }])
    await write(base, 'back')
    await applied(van, fileOf('back'))
    await untilFeed(van.gateway, ({ cursor, rows_behind }) => cursor === ROWS && rows_behind === 0)
  },
)
