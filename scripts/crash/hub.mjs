import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { judgeFeed, judgeModels, judgeRows } from './hub/judge.mjs'
import { startLoad } from './hub/load.mjs'
import { prepareLoad, SENT, startFleet, startMember, startWorld, withoutEngines } from './hub/world.mjs'
import { makeWorkspace } from './node.mjs'

/**
 * Hub under kills: two processes behind haproxy, a primary of PostgreSQL with a synchronous standby, Swift, writers of
 * rows and models, simulated gateways and a real one that sends a feed. `--what` names what is killed by turns:
 * a process of the hub, the primary (the standby is promoted), the object server, the gateway. Each acknowledged write
 * must be there once at the end, and the sums of the feeds equal. `--seconds` ends the kills earlier. With `--standby 0` commits do not wait for the
 * standby: the control, which must show losses.
 */
const KINDS = ['hub', 'primary', 'store', 'gateway']
const flags = readFlags({
  ...{ kills: 120, seconds: 100_000, what: KINDS.join(','), seed: 1, standby: 1 },
  ...{ writers: 4, modelWriters: 2, loadMs: 800, lagMs: 50, downMs: 800 },
})
const why = withoutEngines()
if (why !== false) {
  console.log(`hub: skipped: ${why}`)
  process.exit(0)
}
const kinds = flags.what.split(',')
const wrong = kinds.find((kind) => !KINDS.includes(kind))
if (wrong !== undefined) throw new Error(`--what: found ${wrong}, expected some of ${KINDS.join(',')}`)

process.once('SIGTERM', () => process.exit(143)) // with all that this process started
const isControl = flags.standby === 0
const random = createRandom(flags.seed)
const workspace = makeWorkspace('hub')
const world = await startWorld(workspace, { isSync: !isControl })
const { pair, swift, processes, hub } = world
const takenMs = Object.fromEntries(kinds.map((kind) => [kind, []]))
const strikes = { hub: killProcess, primary: failOver, store: killStore, gateway: killGateway }
try {
  await run()
} finally {
  await world.end()
}

async function run() {
  const token = await prepareLoad(hub)
  const gateway = await startMember(workspace, hub, token)
  const fleet = startFleet(workspace, hub, { token, seed: flags.seed, drainS: isControl ? 15 : 120 })
  const { writers, modelWriters } = flags
  const load = startLoad(hub, { table: 'crash_rows', random, writers, modelWriters, session: true })
  const sent = startLoad(gateway, { table: SENT, random, writers: 1 })
  const untilMs = performance.now() + flags.seconds * 1000
  let kills = 0
  for (; kills < flags.kills && performance.now() < untilMs; kills++) {
    await sleep(flags.loadMs * (0.5 + random()))
    const kind = kinds[kills % kinds.length]
    takenMs[kind].push(await strikes[kind]({ load, gateway }))
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
  const faults = [...sent.faults, ...(isControl ? [] : losses)]
  if (isControl && losses.length === 0) faults.push('the control lost nothing, expected losses')
  const { rows, batches, rowsCompared, rowsReadBack } = simulated
  report(
    'hub',
    {
      ...{ kills, isControl, failOverMs: timesOf(takenMs), hub: load.facts() },
      ...{ gateway: sent.facts(), simulated: { rows, batches, rowsCompared, rowsReadBack } },
      found: results.map(({ facts }) => facts).filter((facts) => facts !== undefined),
      ...(isControl ? { losses: losses.slice(0, 10) } : {}),
    },
    faults,
  )
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

/** Kills a process of the hub. @returns ms until the other one acknowledges a write */
async function killProcess({ load }) {
  const killed = processes[Math.floor(random() * processes.length)]
  const killedMs = performance.now()
  await killed.kill()
  const tookMs = (await load.next('rows')) - killedMs
  await sleep(flags.downMs * random())
  await killed.start()
  return tookMs
}

/** Kills the primary and promotes the standby, which gets a standby of its own. @returns ms until writes go on */
async function failOver({ load }) {
  await pair.holdLog()
  await sleep(flags.lagMs * random())
  const killedMs = performance.now()
  await pair.kill()
  const next = load.next('rows')
  await pair.promote()
  const tookMs = (await next) - killedMs
  await pair.renew()
  return tookMs
}

/** Kills the object server, and starts it again. @returns ms from then until models are taken */
async function killStore({ load }) {
  await swift.kill()
  await sleep(flags.downMs * random())
  const backMs = performance.now()
  await swift.start()
  return (await load.next('models')) - backMs
}

/** Kills the gateway, and starts it again. @returns ms until it answers */
async function killGateway({ gateway }) {
  await gateway.kill()
  return await gateway.start()
}
