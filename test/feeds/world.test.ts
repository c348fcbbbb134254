import t from 'tap'
import { startWorld, TOPOLOGIES } from '../support/feed-world.js'
import { findsDamage, verifyAll } from '../support/verify-world.js'

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
        t.same(wrong.slice(0, 30), [], `seed ${seed}: ${wrong.length === 0 ? 'equal' : world.log.join(', ')}`)
        const verified = await verifyAll(world.nodes)
        for (const { feed, isEqual, expected } of verified)
          t.equal(isEqual, expected, `seed ${seed}: sync.verify of ${feed}`)
        await findsDamage(t, world.nodes, verified, seed + TOPOLOGIES.indexOf(topology))
      } finally {
        await world.stop()
      }
    }
  })
