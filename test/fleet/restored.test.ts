import t from 'tap'
import { put, register, rowsOf, until } from '../support/feeds.js'
import { backedUp, ENV, fleet, joined, makeToken, members, OFTEN, run, setProfile } from '../support/fleet.js'
import { cli } from '../support/run-cli.js'
import type { TestGateway } from '../support/start-gateway.js'
import { edit } from '../support/verified-feeds.js'

const untilRows = (node: TestGateway, count: number) =>
  until(
    () => rowsOf(node).catch(() => []),
    (found) => found.length === count,
  )
const untilState = (node: TestGateway, wanted: string) =>
  until(
    () => fleet<{ state: string; reason: string | null }>(node, 'get_membership'),
    ({ state }) => state === wanted,
  )
const keysOf = async (hub: TestGateway) => (await members(hub)).map(({ state, node }) => ({ state, node }))

t.test('fleet: a gateway restored from a backup after it joined is a member, and goes on', async (t) => {
  const { start, backup, restore } = backedUp(t, t.testdir(), OFTEN)
  const [hub, van] = [await start('hub'), await start('van')]
  await setProfile(hub.node, { up: [{ table: 'seen' }] })
  await register(van.node)
  await joined(hub.node, van.node)
  await put(van.node, [{ k: 1 }])
  await untilRows(hub.node, 1)
  const before = await keysOf(hub.node)
  await backup('van', 'stick')
  await van.stop()
  const again = await restore('stick', 'van2')
  await put(again.node, [{ k: 2 }])
  await untilRows(hub.node, 2)
  t.match(await fleet(again.node, 'get_membership'), { state: 'member', reason: null })
  t.same(await keysOf(hub.node), before)
  t.match(await run(again.node, 'fleet', 'status'), { stdout: /member\nprofile field version 1/ })
})

t.test(
  'fleet: a gateway restored from a backup before it joined joins again, with other keys when it was forgotten',
  async (t) => {
    const { start, backup, restore } = backedUp(t, t.testdir(), OFTEN)
    const [hub, van] = [await start('hub'), await start('van')]
    await setProfile(hub.node, { up: [{ table: 'seen' }] })
    await register(van.node)
    await put(van.node, [{ k: 1 }])
    await backup('van', 'stick')
    const used = await joined(hub.node, van.node)
    await put(van.node, [{ k: 2 }])
    await untilRows(hub.node, 2)
    const before = await keysOf(hub.node)
    await van.stop()
    const kept = await restore('stick', 'van2')
    t.match(await run(kept.node, 'fleet', 'status'), { stdout: /no member/ })
    t.match(await run(kept.node, 'join', hub.node.url, '--token', used), { stderr: /used 1 of 1 times/ })
    await joined(hub.node, kept.node)
    t.same(await keysOf(hub.node), before, 'its keys are in the backup: it is the same gateway')
    await kept.stop()
    // a backup of a version that made the keys later
    const later = await restore('stick', 'van3')
    await later.stop()
    edit(later.node, 'DELETE FROM node_key', 'state.db')
    const again = await start('van3')
    t.match(await run(again.node, 'join', hub.node.url, '--token', used), {
      code: 1,
      stderr:
        /joined with other keys: .*a backup from before it had them.*fleet revoke.*fleet forget.* at the hub/,
    })
    t.same(await keysOf(hub.node), before, 'a refusal changes nothing')
    for (const verb of ['revoke', 'forget'])
      t.match(await run(hub.node, 'fleet', verb, String(before[0]?.node)), { code: 0 })
    await joined(hub.node, again.node)
    await put(again.node, [{ k: 3 }])
    const rows = await untilRows(hub.node, 3)
    t.same(rows.map(({ k }) => k).sort(), [1, 2, 3], 'the hub keeps the row that the backup did not have')
    t.same(await keysOf(hub.node), before, 'one gateway, the same')
  },
)

t.test('fleet: members that joined after the backup of a hub are refused, and join again', async (t) => {
  const { start, backup, restore } = backedUp(t, t.testdir(), OFTEN)
  const hub = await start('hub')
  const [old, young] = [await start('old'), await start('young')]
  await setProfile(hub.node, { up: [{ table: 'seen' }] })
  for (const { node } of [old, young]) await register(node)
  await joined(hub.node, old.node, 'old')
  await put(old.node, [{ k: 1 }])
  await untilRows(hub.node, 1)
  await backup('hub', 'stick')
  await joined(hub.node, young.node, 'young')
  await put(young.node, [{ k: 2 }])
  await untilRows(hub.node, 2)
  await hub.stop()
  const again = await restore('stick', 'hub2', Number(new URL(hub.node.url).port))
  const { reason } = await untilState(young.node, 'refused')
  t.match(reason, /the hub was restored from an older backup; join again with a new token/)
  t.match(await run(young.node, 'fleet', 'status'), { stdout: /refused: .*join again/ })
  t.match(await cli('/', ['doctor', '--data-dir', young.node.dataDir], ENV), {
    stdout: /refuses this gateway/,
  })
  t.equal((await rowsOf(young.node)).length, 1, 'its data stay')
  await put(young.node, [{ k: 3 }])
  const token = await makeToken(again.node)
  t.match(await run(young.node, 'join', again.node.url, '--token', token, '--name', 'young'), { code: 0 })
  const rows = await untilRows(again.node, 3)
  t.same(rows.map(({ k }) => k).sort(), [1, 2, 3], 'what the hub had lost is sent again')
  await untilState(young.node, 'member')
  await put(old.node, [{ k: 4 }])
  await untilRows(again.node, 4)
  t.match(
    await fleet(old.node, 'get_membership'),
    { state: 'member' },
    'the one of the backup never joined again',
  )
})
