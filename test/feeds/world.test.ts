import t from 'tap'
import { startWorld, TOPOLOGIES } from '../support/feed-world.js'

/** Seeds for each topology; FEED_SEEDS asks for more, FEED_SEED for one. */
const SEEDS = Number(process.env.FEED_SEEDS ?? 1)
const ONLY = process.env.FEED_SEED
const STEPS = 60

for (const topology of TOPOLOGIES)
  t.test(`feeds: whatever happens, each row arrives once: ${topology.name}`, async (t) => {
    const seeds = ONLY === undefined ? Array.from({ length: SEEDS }, (_, at) => at + 1) : [Number(ONLY)]
    for (const seed of seeds) {
      const world = await startWorld(topology, seed, t.testdir())
      try {
        await world.run(STEPS)
        const wrong = await world.settle(15_000)
        t.same(wrong.slice(0, 10), [], `seed ${seed}: ${wrong.length === 0 ? 'equal' : world.log.join(', ')}`)
      } finally {
        await world.stop()
      }
    }
  })
