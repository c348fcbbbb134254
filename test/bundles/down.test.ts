import path from 'node:path'
import t from 'tap'
import { applied, type BundleNode, introduce, startBundleNode, verbsOf } from '../support/bundles.js'
import { type FeedInfo, feedFrom, put, register, rowsOf, sync, until, untilSent } from '../support/feeds.js'

/**
 * A hub and a van with a feed down of the table `seen`; the hub is called as the van's upstream is. The van has one
 * row, and does not run.
 */
async function startPair(
  t: Parameters<typeof startBundleNode>[0] & { testdir(): string },
  feed: object = {},
) {
  const dir = t.testdir()
  const [hub, first] = [await startBundleNode(t, dir, 'from'), await startBundleNode(t, dir, 'van')]
  await introduce(dir, hub, first)
  await register(hub.gateway)
  await put(hub.gateway, [{ k: 1, note: 'over the network' }])
  await feedFrom(first.gateway, hub.gateway, { params: feed })
  await untilSent(first.gateway)
  await first.gateway.gateway.stop()
  const van = verbsOf(dir, 'van')
  const fileOf = (name: string) => path.join(dir, name)
  type Side = Omit<BundleNode, 'gateway'>
  return {
    ...{ hub, van, fileOf, start: () => startBundleNode(t, dir, 'van') },
    /** Writes a bundle for the other side, and applies it. */
    async travel(from: Side, to: Side, name: string, { code = 0, flags = [] as string[] } = {}) {
      const written = await from.bundle(['write', fileOf(name), ...flags])
      return { written, feeds: (await applied(to, fileOf(name), code)).bundles[0]?.feeds ?? [] }
    },
  }
}

const rowsBy = async ({ gateway }: BundleNode) =>
  new Map((await rowsOf(gateway)).map(({ k, note }) => [Number(k), note]))

const keysOf = async (node: BundleNode) => [...(await rowsBy(node)).keys()].sort((a, b) => a - b)

const feedOf = async ({ gateway }: BundleNode) => (await sync<FeedInfo[]>(gateway, 'list_feeds'))[0]?.feed

t.test('bundles: rows of a feed down travel from the hub, once, whatever the way', async (t) => {
  const { hub, van, fileOf, start, travel } = await startPair(t)
  await put(hub.gateway, [{ k: 1, note: 'changed' }, { k: 2 }])
  t.match(await travel(hub, van, '1'), {
    written: /For van: [23] rows/, // where the van is, is noted once a minute
    feeds: [{ table: 'seen', batches: 1, known: 0, keptOut: null }],
  })
  const again = await applied(van, fileOf('1'))
  t.match(again.bundles[0]?.feeds, [{ written: 0, batches: 0, known: 1, keptOut: null }])
  await travel(van, hub, 'back')
  t.match((await travel(hub, van, '2')).written, /For van: 0 rows/, 'what the van has does not go again')
  await put(hub.gateway, [{ k: 3 }])
  t.match((await travel(hub, van, '3')).feeds, [{ written: 1, keptOut: null }])

  await put(hub.gateway, [{ k: 4 }])
  const running = await start()
  await until(
    () => keysOf(running),
    (keys) => keys.length === 4,
  )
  t.equal((await rowsBy(running)).get(1), 'changed')
  await put(hub.gateway, [{ k: 5 }])
  await hub.bundle(['write', fileOf('4')])
  await until(
    () => keysOf(running),
    (keys) => keys.length === 5,
  )
  for (const name of ['1', '4'])
    t.match(
      await applied(van, fileOf(name)),
      { bundles: [{ feeds: [{ written: 0, keptOut: null }] }] },
      'what came over the network meanwhile is not taken again',
    )
  await untilSent(running.gateway)
  t.equal((await rowsOf(running.gateway)).length, 5)
  t.match(await sync(running.gateway, 'verify', { feed: await feedOf(running) }), {
    equal: true,
    days: [],
    removed_days: [],
  })
})

t.test('bundles: what a feed down leaves out moves its cursor; a missing stick is a gap', async (t) => {
  const { hub, van, fileOf, start, travel } = await startPair(t, { conds: { '<': ['k', 100] } })
  await travel(van, hub, 'begin')
  await put(hub.gateway, [{ k: 200 }, { k: 201 }])
  t.match((await travel(hub, van, '1')).feeds, [{ batches: 1, written: 0, keptOut: null }])
  await travel(van, hub, 'back')
  t.match((await travel(hub, van, '2')).feeds, [{ batches: 0, known: 0, keptOut: null }])

  await put(hub.gateway, [{ k: 2 }])
  await hub.bundle(['write', fileOf('lost'), '--continue'])
  await put(hub.gateway, [{ k: 3 }])
  const [late] = (await travel(hub, van, '4', { code: 1, flags: ['--continue'] })).feeds
  t.match(late?.keptOut, /it begins after change \d+, but only the changes up to \d+ are here/)
  await travel(van, hub, 'gap')
  t.match((await travel(hub, van, '5', { flags: ['--continue'] })).feeds, [{ written: 2, keptOut: null }])
  t.same(await keysOf(await start()), [1, 2, 3])
})

t.test(
  'bundles: a feed down needs a feed here and a key there; a table made again is sent whole',
  async (t) => {
    const { hub, van, fileOf, start, travel } = await startPair(t)
    await put(hub.gateway, [{ k: 2 }])
    await hub.bundle(['write', fileOf('old')])
    await hub.gateway.call('/api/v1/dataloaderapi/jsonrpc', 'loaderwebapi.drop_loader', { data_name: 'seen' })
    await register(hub.gateway)
    await put(hub.gateway, [{ k: 7 }])
    t.match((await travel(hub, van, '1')).feeds, [{ written: 1, keptOut: null }])
    const old = await applied(van, fileOf('old'), 1)
    t.match(old.bundles[0]?.feeds, [
      { keptOut: /older than another one that was applied, and its table was/ },
    ])
    const running = await start()
    t.same(await keysOf(running), [1, 7], 'rows of the table before stay')
    await running.gateway.gateway.stop()

    const [feed] = JSON.parse(await van.run(['sync', 'feed', 'list', '--json'])) as { feed: string }[]
    await van.run(['sync', 'feed', 'remove', String(feed?.feed)])
    await put(hub.gateway, [{ k: 8 }])
    const [none] = (await travel(hub, van, '2', { code: 1 })).feeds
    t.match(none, {
      written: 0,
      keptOut: /found no feed down with this id here, expected one whose upstream is/,
    })
    const keys = JSON.parse(await hub.run(['key', 'list', '--json'])) as {
      apiKey: string
      scopes: string[]
    }[]
    for (const { apiKey, scopes } of keys)
      if (scopes.includes('sync:read')) await hub.gateway.revokeKey(apiKey)
    t.same((await travel(hub, van, '3')).feeds, [], 'nothing for a key that was revoked')
  },
)
