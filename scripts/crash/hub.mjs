import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { judgeFeed, judgeModels, judgeRows } from './hub/judge.mjs'
import { startLoad } from './hub/load.mjs'
import { createStrikes, KINDS } from './hub/strikes.mjs'
import { prepareLoad, SENT, startFleet, startMember, startWorld, withoutEngines } from './hub/world.mjs'
import { makeWorkspace } from './node.mjs'

/**
 * Hub under kills: two processes behind haproxy, a primary of PostgreSQL with a synchronous standby, Swift, writers of
 * rows and models, simulated gateways and a real one that sends a feed. `--what` names what is struck by turns:
 * a process of the hub, the primary (the standby is promoted), an object server, the gateway; `frozen-hub` and
 * `frozen-store` are stopped for a while, and go on. Each acknowledged write must be there once at the end, and the
 * sums of the feeds equal. `--stores 3`: three object servers, of which one is struck at a time. `--patroni 1`: the
 * pair is run by Patroni, and the primary is killed with it. `--verify 1`: after each strike the gateway's writer rests
 * until the hub has all its rows, and `sync.verify` compares them. `--seconds` ends the kills earlier. With `--standby 0`
 * commits do not wait for the standby: the control, which must show losses.
 */
const flags = readFlags({
  ...{
    kills: 120,
    seconds: 100_000,
    what: KINDS.slice(0, 4).join(','),
    seed: 1,
    standby: 1,
    stores: 1,
    patroni: 0,
    verify: 0,
  },
  ...{ writers: 4, modelWriters: 2, loadMs: 800, lagMs: 50, downMs: 800, frozenMs: 8000 },
})
if (![1, 3].includes(flags.stores)) throw new Error(`--stores: found ${flags.stores}, expected 1 or 3`)
const kinds = flags.what.split(',')
const wrong = kinds.find((kind) => !KINDS.includes(kind))
if (wrong !== undefined) throw new Error(`--what: found ${wrong}, expected some of ${KINDS.join(',')}`)
const why = withoutEngines(flags)
if (why !== false) {
  console.log(`hub: skipped: ${why}`)
  process.exit(0)
}

process.once('SIGTERM', () => process.exit(143)) // with all that this process started
const isControl = flags.standby === 0
const isPatroni = flags.patroni === 1
if (isControl && isPatroni) throw new Error('--standby 0: expected a pair without --patroni 1')
const random = createRandom(flags.seed)
const workspace = makeWorkspace('hub')
const world = await startWorld(workspace, { isSync: !isControl, stores: flags.stores, isPatroni })
const { hub } = world
const takenMs = Object.fromEntries(kinds.map((kind) => [kind, []]))
const strikes = createStrikes(world, { ...flags, random })
try {
  await run()
} finally {
  await world.end()
}

async function run() {
  const token = await prepareLoad(hub)
  const gateway = await startMember(workspace, hub, token)
  const fleet = await startFleet(workspace, hub, { token, seed: flags.seed, drainS: isControl ? 15 : 120 })
  const { writers, modelWriters } = flags
  const load = startLoad(hub, { table: 'crash_rows', random, writers, modelWriters, session: true })
  const sent = startLoad(gateway, { table: SENT, random, writers: 1 })
  const untilMs = performance.now() + flags.seconds * 1000
  const stops = []
  let kills = 0
  for (; kills < flags.kills && performance.now() < untilMs; kills++) {
    await sleep(flags.loadMs * (0.5 + random()))
    const kind = kinds[kills % kinds.length]
    try {
      takenMs[kind].push(await strikes[kind]({ load, gateway }))
    } catch (error) {
      stops.push(`strike ${kills + 1} (${kind}): ${error.message}`)
      break // what was acknowledged until now is compared
    }
    const unequal = flags.verify === 1 ? await verify(gateway, sent) : []
    if (unequal.length > 0) {
      stops.push(`after strike ${kills + 1} (${kind}): ${unequal[0]}`)
      break
    }
    if (kills % 10 === 9) console.error(`${kills + 1} kills, ${JSON.stringify(load.facts())}`)
  }
  await Promise.all([load.stop(), sent.stop()])
  const simulated = await fleet.stop()
  // the control may have lost what the gateways sent before: their feeds go on from where the hub is
  const results = [
    await judgeFeed(gateway),
    await judgeRows(hub, load),
    await judgeRows(hub, sent, gateway.nodeId),
    await judgeModels(hub, load),
  ]
  await gateway.kill('SIGTERM')
  const losses = [...results.flatMap((each) => each.faults), ...simulated.faults, ...load.faults]
  const faults = [...stops, ...sent.faults, ...(isControl ? [] : losses)]
  if (isControl && losses.length === 0) faults.push('the control lost nothing, expected losses')
  const { rows, batches, rowsCompared, rowsReadBack } = simulated
  report(
    'hub',
    {
      ...{
        kills,
        seed: flags.seed,
        stores: flags.stores,
        isVerifiedEach: flags.verify === 1,
        isPatroni,
        isControl,
        failOverMs: timesOf(takenMs),
        hub: load.facts(),
      },
      ...{ gateway: sent.facts(), simulated: { rows, batches, rowsCompared, rowsReadBack } },
      found: results.map(({ facts }) => facts).filter((facts) => facts !== undefined),
      ...(isControl ? { losses: losses.slice(0, 10) } : {}),
    },
    faults,
  )
}

/** Compares the rows that a gateway has sent until now with those of the hub. @returns lines that say what is wrong */
async function verify(gateway, sent) {
  await sent.rest()
  const { faults } = await judgeFeed(gateway)
  sent.goOn()
  return faults
}

function timesOf(taken) {
  return Object.fromEntries(
    Object.entries(taken).map(([kind, values]) => {
      const sorted = values.toSorted((a, b) => a - b)
      const [median, most] = [sorted[sorted.length >> 1], sorted.at(-1)]
      return [kind, { kills: sorted.length, median: Math.round(median), most: Math.round(most) }]
    }),
  )
}
