import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { judgeLedger, startWriters } from './ledger.mjs'
import { connect, createNode, makeWorkspace } from './node.mjs'

/**
 * Kill test: puts of 1 kB to 50 MB into a gateway that feeds another one, SIGKILL to either at random
 * instants, and a ledger outside of what was acknowledged. `--kills 300` is the long form.
 */
const flags = readFlags({ kills: 300, writers: 4, seed: 1, maxBytes: 50_000_000, maxStartMs: 3000 })
const random = createRandom(flags.seed)
const workspace = makeWorkspace('kill')
const edge = await createNode(workspace, 'edge')
const upstream = await createNode(workspace, 'upstream')
const startMs = [await upstream.start(), await edge.start()]
await connect(edge, upstream)

const { writers: count, maxBytes } = flags
const writers = startWriters(edge, { writers: count, random, maxBytes, pickSize, maxPauseMs: 50 })
for (let i = 0; i < flags.kills; i++) {
  await sleep(100 + random() * 1400)
  const victim = random() < 0.5 ? edge : upstream
  await victim.kill('SIGKILL')
  startMs.push(await victim.start())
  if ((i + 1) % 25 === 0) console.error(`${i + 1} kills, ${writers.acknowledged.length} acknowledged`)
}
await writers.stop()
const { faults, startMs: lastMs } = await judgeLedger(writers.acknowledged, edge, upstream)
const sorted = [...startMs, ...lastMs].sort((a, b) => a - b)
const slowest = sorted.at(-1)
const median = sorted[sorted.length >> 1]
if (slowest > flags.maxStartMs)
  faults.push(`a start took ${Math.round(slowest)} ms, expected at most ${flags.maxStartMs}`)
for (const node of [edge, upstream]) await node.kill('SIGTERM')
const times = { medianStartMs: Math.round(median), slowestStartMs: Math.round(slowest) }
report('kill', { kills: flags.kills, ...writers.facts(), ...times }, faults)

/** Many small ones, some of a few megabytes, now and then a large one. */
function pickSize() {
  const dice = random()
  const [low, high] =
    dice < 0.8 ? [1000, 100_000] : dice < 0.96 ? [100_000, 5_000_000] : [5_000_000, 50_000_000]
  return Math.min(maxBytes, Math.round(low * (high / low) ** random()))
}
