import t from 'tap'
import { sticksOf } from '../support/bundle-world.js'
import { startWorld, TOPOLOGIES, type Topology } from '../support/feed-world.js'
import { findsDamage, verifyAll } from '../support/verify-world.js'

/** Seeds for each world; BUNDLE_SEEDS asks for more, and for all worlds, BUNDLE_SEED for one. */
const ASKED = process.env.BUNDLE_SEEDS
const SEEDS = Number(ASKED ?? 1)
const ONLY = process.env.BUNDLE_SEED
const STEPS = 50

const withUpOnly = (topology: Topology): Topology => ({
  ...topology,
  feeds: topology.feeds.filter(([, , direction]) => direction === 'up'),
})
const [LINE, CIRCLE, , TWO_WAYS] = TOPOLOGIES as [Topology, Topology, Topology, Topology]

/** Worlds whose links work now and then, and worlds that have sticks alone. */
const WORLDS: readonly (readonly [name: string, topology: Topology, cutShare: number | undefined])[] = [
  ['network and sticks', LINE, undefined],
  ['network and sticks', TWO_WAYS, undefined],
  ['sticks alone', withUpOnly(LINE), 1],
  ['sticks alone', withUpOnly(CIRCLE), 1],
]

for (const [name, topology, cutShare] of ASKED === undefined && ONLY === undefined
  ? WORLDS.slice(1, 3)
  : WORLDS)
  t.test(`bundles: whatever happens, each row arrives once: ${topology.name}, ${name}`, async (t) => {
    const seeds = ONLY === undefined ? Array.from({ length: SEEDS }, (_, at) => at + 1) : [Number(ONLY)]
    for (const seed of seeds) {
      const dir = t.testdir({ [`seed-${seed}`]: {} })
      const home = `${dir}/seed-${seed}`
      const world = await startWorld(topology, seed, home, sticksOf(topology, home, cutShare))
      try {
        await world.run(STEPS)
        const wrong = await world.settle(20_000)
        t.same(wrong.slice(0, 10), [], `seed ${seed}: ${wrong.length === 0 ? 'equal' : world.log.join(', ')}`)
        world.mendLinks() // a comparison asks the other side
        const verified = await verifyAll(world.nodes)
        for (const { feed, isEqual, expected } of verified)
          t.equal(isEqual, expected, `seed ${seed}: sync.verify of ${feed}`)
        await findsDamage(t, world.nodes, verified, seed)
      } finally {
        await world.stop()
      }
    }
  })
