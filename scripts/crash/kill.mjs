import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  compareWithLedger,
  connect,
  createModelBytes,
  createNode,
  createRandom,
  makeWorkspace,
  put,
  readFlags,
  report,
  waitForOutbox,
} from './lib.mjs'

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

const ledgerFile = path.join(workspace.dir, 'ledger.txt')
const ledger = []
const modelOf = createModelBytes(flags.maxBytes)
let isOver = false
let refused = 0

/** Many small ones, some of a few megabytes, now and then a large one. */
function pickSize() {
  const dice = random()
  const [low, high] =
    dice < 0.8 ? [1000, 100_000] : dice < 0.96 ? [100_000, 5_000_000] : [5_000_000, 50_000_000]
  return Math.min(flags.maxBytes, Math.round(low * (high / low) ** random()))
}

async function write() {
  while (!isOver) {
    const model = modelOf(pickSize())
    try {
      const info = await put(edge, model)
      appendFileSync(ledgerFile, `${info.model_id} ${model.sha256} ${model.sizeBytes}\n`)
      ledger.push({ modelId: info.model_id, sha256: model.sha256, sizeBytes: model.sizeBytes })
    } catch {
      refused++ // the gateway was killed: not acknowledged, so nothing is owed
      await sleep(50)
    }
    await sleep(random() * 50)
  }
}

const writers = Array.from({ length: flags.writers }, write)
for (let i = 0; i < flags.kills; i++) {
  await sleep(100 + random() * 1400)
  const victim = random() < 0.5 ? edge : upstream
  await victim.kill('SIGKILL')
  startMs.push(await victim.start())
  if ((i + 1) % 25 === 0) console.error(`${i + 1} kills, ${ledger.length} acknowledged`)
}
isOver = true
await Promise.all(writers)
await waitForOutbox(edge)
// one more start each: the sweep at the start takes what the kills left
for (const node of [edge, upstream]) {
  await node.kill('SIGTERM')
  startMs.push(await node.start())
}
await sleep(2000)
const faults = await compareWithLedger(ledger, edge, upstream)
const sorted = startMs.toSorted((a, b) => a - b)
const slowest = sorted.at(-1)
const median = sorted[sorted.length >> 1]
if (slowest > flags.maxStartMs)
  faults.push(`a start took ${Math.round(slowest)} ms, expected at most ${flags.maxStartMs}`)
for (const node of [edge, upstream]) await node.kill('SIGTERM')
const bytes = ledger.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
report(
  'kill',
  {
    kills: flags.kills,
    acknowledged: ledger.length,
    bytes,
    refused,
    medianStartMs: Math.round(median),
    slowestStartMs: Math.round(slowest),
  },
  faults,
)
