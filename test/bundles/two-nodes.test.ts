import path from 'node:path'
import t from 'tap'
import type { Settings } from '../../src/config/config.js'
import { applied, type BundleNode, feedByBundles, introduce, startBundleNode } from '../support/bundles.js'
import { type FeedInfo, put, type Row, register, rowsOf, sync, untilFeed } from '../support/feeds.js'

type Test = Parameters<typeof startBundleNode>[0] & { testdir(): string }

interface Pair {
  readonly dir: string
  readonly van: BundleNode
  readonly base: BundleNode
  fileOf(name: string): string
}

async function pair(t: Test, settings: Settings = {}): Promise<Pair> {
  const dir = t.testdir()
  const [van, base] = [await startBundleNode(t, dir, 'van'), await startBundleNode(t, dir, 'base', settings)]
  await introduce(dir, van, base)
  return { dir, van, base, fileOf: (name) => path.join(dir, name) }
}

const infoOf = async ({ gateway }: BundleNode): Promise<FeedInfo> =>
  (await sync<FeedInfo[]>(gateway, 'list_feeds'))[0] as FeedInfo

const keysOf = async ({ gateway }: BundleNode): Promise<number[]> =>
  (await rowsOf(gateway)).map(({ k }) => Number(k)).sort((a, b) => a - b)

const bare = (rows: readonly Row[]) =>
  rows.map(({ _origin, ...row }) => row).sort((a, b) => Number(a.k) - Number(b.k))

t.test('bundles: rows and overrides arrive once; acknowledgements come back', async (t) => {
  const { van, base, fileOf } = await pair(t)
  await register(van.gateway)
  await put(van.gateway, [
    { k: 1, note: 'first' },
    { k: 2, note: 'second' },
  ])
  await feedByBundles(van, base)
  await van.bundle(['write', fileOf('1'), '--for', 'base'])
  t.match(await applied(base, fileOf('1')), {
    others: 0,
    bundles: [{ name: 'van', feeds: [{ table: 'seen', written: 2, batches: 1, keptOut: null }] }],
  })
  t.same(bare(await rowsOf(base.gateway)), bare(await rowsOf(van.gateway)))
  t.match(
    await applied(base, fileOf('1')),
    { bundles: [{ feeds: [{ written: 0, batches: 0, known: 1, keptOut: null }] }] },
    'again',
  )
  t.match(await infoOf(van), { rows_behind: 2, cursor: 0 })

  await base.bundle(['write', fileOf('back')])
  t.match(await applied(van, fileOf('back')), { bundles: [{ name: 'base', acknowledged: { feeds: [/./] } }] })
  await untilFeed(
    van.gateway,
    ({ rows_behind, cursor, state }) => rows_behind === 0 && cursor === 2 && state === 'idle',
  )

  await put(van.gateway, [{ k: 2, note: 'changed' }, { k: 3 }])
  await van.bundle(['write', fileOf('2')])
  t.match(
    await applied(van, fileOf('back')),
    { bundles: [{ acknowledged: { feeds: [] } }] },
    'an old one changes nothing',
  )
  t.match(
    await applied(base, fileOf('2')),
    { bundles: [{ feeds: [{ written: 2, batches: 1, known: 0 }] }] },
    'only what is new',
  )
  t.match(
    await applied(base, fileOf('1')),
    { bundles: [{ feeds: [{ written: 0, batches: 0, known: 1 }] }] },
    'an old one',
  )
  t.same(bare(await rowsOf(base.gateway)), bare(await rowsOf(van.gateway)))
})

t.test('bundles: a table that the receiver dropped is sent again', async (t) => {
  const { van, base, fileOf } = await pair(t)
  await register(van.gateway)
  await put(van.gateway, [{ k: 1 }, { k: 2 }])
  await feedByBundles(van, base)
  const travel = async (name: string, code = 0) => {
    await van.bundle(['write', fileOf(name)])
    await applied(base, fileOf(name), code)
    await base.bundle(['write', fileOf(`${name}.back`)])
    await applied(van, fileOf(`${name}.back`))
  }
  await travel('1')
  await base.gateway.call('/api/v1/dataloaderapi/jsonrpc', 'loaderwebapi.drop_loader', { data_name: 'seen' })
  await put(van.gateway, [{ k: 3 }])
  await travel('2', 1)
  await untilFeed(van.gateway, ({ rows_behind, cursor }) => cursor === 0 && rows_behind === 3)
  await travel('3')
  t.same(await keysOf(base), [1, 2, 3])
  await untilFeed(van.gateway, ({ rows_behind }) => rows_behind === 0)
})

t.test('bundles: a row that the receiver refuses is set aside, and the others travel', async (t) => {
  const { van, base, fileOf } = await pair(t, { limits: { valueBytes: 200_000 } })
  await register(van.gateway)
  await feedByBundles(van, base)
  await put(van.gateway, [{ k: 1 }, { k: 2, note: 'x'.repeat(300_000) }, { k: 3 }])
  await van.bundle(['write', fileOf('1')])
  const result = await applied(base, fileOf('1'), 1)
  t.match(result.bundles[0]?.feeds[0]?.keptOut, /row 1.*limits.valueBytes/)
  t.same(await keysOf(base), [])
  await base.bundle(['write', fileOf('back')])
  t.match(await applied(van, fileOf('back')), { bundles: [{ acknowledged: { setAside: 1 } }] })
  t.match(await infoOf(van), {
    set_aside: { rows: 1, last: [{ row_key: '{"k":2}', reason: /limits.valueBytes/ }] },
  })
  await van.bundle(['write', fileOf('2')])
  await applied(base, fileOf('2'))
  t.same(await keysOf(base), [1, 3])
  await put(van.gateway, [{ k: 2, note: 'short' }])
  await van.bundle(['write', fileOf('3')])
  await applied(base, fileOf('3'))
  t.same(await keysOf(base), [1, 2, 3], 'a row that was mended travels')
})
