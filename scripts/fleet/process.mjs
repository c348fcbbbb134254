// A process of the simulator: a part of the gateways. Started by main.mjs, which tells it when to begin and to end.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createRandom } from '../random.mjs'
import { createGateway, cutLink, join, keptOf, live } from './gateway.mjs'
import { checkLedger } from './ledger.mjs'
import { cutUntilMs, isCut, planOutages } from './plan.mjs'
import { createStats } from './stats.mjs'
import { createWire } from './wire.mjs'

/** Gateways that join at a time. */
const JOINS_AT_ONCE = 8
/** Most faults that are told; all are counted. */
const MAX_FAULTS = 20
const RESTARTS = ['none', 'none', 'saved', 'older', 'older', 'restored']

process.on('SIGINT', () => undefined) // the parent ends the run
// the parent ends this process when it has read the result, which may be large
process.once('disconnect', () => process.exit())
process.once('message', (order) => {
  run(order).catch((error) => {
    process.send({ failed: error.fault === undefined ? error.stack : error.message })
  })
})

async function run({ flags, token, from, to, kept }) {
  const world = createWorld(flags, from)
  const gateways = Array.from({ length: to - from }, (_, at) => createGateway(flags, from + at, kept[at]))
  await joinAll(world, gateways, token)
  process.send({ joined: gateways.length })
  const { startAtMs } = await order('start')
  world.begin(startAtMs)
  const stopTroubles = startTroubles(world, gateways)
  const telling = setInterval(() => process.send({ progress: world.stats.counts }), 1000)
  const running = Promise.all(gateways.map((gateway) => live(world, gateway)))
  void order('drain').then(() => {
    stopTroubles()
    world.drain()
  })
  await running
  world.end()
  clearInterval(telling)
  const checked = await checkLedger(world, gateways)
  const { rss } = process.memoryUsage()
  world.stats.rssBytes = Math.max(world.stats.rssBytes, rss)
  process.send({
    ...{
      stats: world.stats,
      checked,
      faults: world.faults.slice(0, MAX_FAULTS),
      faultCount: world.faults.length,
    },
    kept: gateways.map((gateway) => keptOf(world, gateway)),
  })
  world.wire.close()
}

/** Waits for a message of the parent. */
function order(name) {
  return new Promise((resolve) => {
    const listen = (message) => {
      if (!(name in message)) return
      process.off('message', listen)
      resolve(message[name])
    }
    process.on('message', listen)
  })
}

/** Parts that the gateways of a process share. Times are ms since the beginning of the run. */
function createWorld(flags, from) {
  const resting = new Set()
  const faults = []
  let [startMs, phase] = [Number.POSITIVE_INFINITY, 'run']
  const wake = () => {
    for (const { timer, resolve } of resting) {
      clearTimeout(timer)
      resolve()
    }
    resting.clear()
  }
  const world = {
    ...{ flags, faults, outages: planOutages(flags), stats: createStats(), wire: createWire(flags) },
    random: createRandom(flags.seed * 7919 + from + 1),
    /** end of the events */
    endMs: flags.minutes * 60_000,
    modelEveryMs:
      flags['model-store'] === '' || flags['models-per-minute'] === 0
        ? Number.POSITIVE_INFINITY
        : (flags.gateways / flags['models-per-minute']) * 60_000,
    now: () => Date.now() - startMs,
    begin: (atMs) => {
      startMs = atMs
    },
    isDraining: () => phase !== 'run',
    isOver: () => phase === 'over',
    fault: (text) => faults.push(text),
    rest: (ms) =>
      new Promise((resolve) => {
        const rest = { resolve }
        rest.timer = setTimeout(() => {
          resting.delete(rest)
          resolve()
        }, ms)
        resting.add(rest)
      }),
    /** Ends the events: what is left is sent, for as long as `drain-s`. */
    drain() {
      phase = 'drain'
      world.endMs = Math.min(world.endMs, world.now())
      wake()
      world.drainTimer = setTimeout(() => {
        phase = 'over'
        wake()
      }, flags['drain-s'] * 1000)
    },
    end() {
      phase = 'over'
      clearTimeout(world.drainTimer)
    },
  }
  return world
}

async function joinAll(world, gateways, token) {
  const left = gateways.filter(({ apiKey }) => apiKey === '')
  const work = async () => {
    for (let gateway = left.shift(); gateway !== undefined; gateway = left.shift())
      await join(world, gateway, token)
  }
  await Promise.all(Array.from({ length: JOINS_AT_ONCE }, work))
}

/** Cuts links as the plan says, restarts gateways, and watches this process. @returns a function that stops all */
function startTroubles(world, gateways) {
  const { flags, outages, stats } = world
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  const timers = outages.map((outage) =>
    setTimeout(
      () => {
        for (const gateway of gateways)
          if (isCut(outage, gateway.linkPlace) && cutUntilMs(outages, gateway.linkPlace, world.now()) > 0)
            cutLink(gateway)
      },
      Math.max(0, outage.fromMs - world.now()),
    ),
  )
  let made = 0
  const perMinute = (flags['restarts-per-minute'] * gateways.length) / flags.gateways
  const restarts =
    perMinute > 0 &&
    setInterval(() => {
      const gateway = gateways[Math.floor(world.random() * gateways.length)]
      gateway.restart = RESTARTS[made++ % RESTARTS.length]
      cutLink(gateway)
    }, 60_000 / perMinute)
  const watch = setInterval(() => {
    stats.rssBytes = Math.max(stats.rssBytes, process.memoryUsage.rss())
    stats.loopMs = Math.max(stats.loopMs, delay.max / 1e6)
    delay.reset()
  }, 1000)
  return () => {
    delay.disable()
    for (const timer of [...timers, restarts, watch]) clearTimeout(timer)
  }
}
