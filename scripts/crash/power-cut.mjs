import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../random.mjs'
import { makeDisk, run, withoutDisks } from './disks.mjs'
import { readFlags, report } from './flags.mjs'
import { judgeLedger, startWriters } from './ledger.mjs'
import { ownMounts } from './mounts.mjs'
import { connect, createNode, makeWorkspace } from './node.mjs'

/**
 * Power-cut test: the edge's data directory, then the upstream's, lies on an XFS of its own on a loop device,
 * whose unsynced writes are thrown away at random instants (`xfs_io -x -c shutdown`). Same ledger, same
 * result as the kill test. Needs root and xfsprogs.
 *
 * A power cut ends the program and its disk at one instant; a shutdown of the file system alone lets the
 * program run on while the kernel is throwing its log away. So the program is stopped first (`--stop 0`
 * leaves that out): whatever it acknowledged, it acknowledged while the disk was still there.
 */
ownMounts()
const flags = readFlags({ cuts: 100, writers: 4, seed: 1, megabytes: 3000, maxBytes: 5_000_000, stop: 1 })
const missing = withoutDisks()
if (missing !== null) {
  console.log(JSON.stringify({ test: 'power-cut', skipped: missing }))
  process.exit(0)
}
const random = createRandom(flags.seed)
const workspace = makeWorkspace('cut')
const disks = {
  edge: makeDisk(workspace.dir, 'edge', flags.megabytes),
  upstream: makeDisk(workspace.dir, 'upstream', flags.megabytes),
}
const cuts = []
let edge
let upstream
let writers
try {
  edge = await createNode(workspace, 'edge', {}, path.join(disks.edge.dir, 'data'))
  upstream = await createNode(workspace, 'upstream', {}, path.join(disks.upstream.dir, 'data'))
  await upstream.start()
  await edge.start()
  await connect(edge, upstream)
  // what was set up before the first cut is not what is tested
  run('sync')
  const { writers: count, maxBytes } = flags
  writers = startWriters(edge, { writers: count, random, maxBytes, pickSize, maxPauseMs: 60 })
  for (let i = 0; i < flags.cuts; i++) {
    await sleep(200 + random() * 1800)
    const [node, disk] = random() < 0.5 ? [edge, disks.edge] : [upstream, disks.upstream]
    if (flags.stop !== 0) await node.freeze()
    const cutMs = performance.now()
    run('xfs_io', '-x', '-c', 'shutdown', disk.dir)
    cuts.push({ name: node.name, cutMs, downMs: performance.now() })
    await node.kill('SIGKILL')
    disk.unmount()
    disk.mount()
    await node.start()
    if ((i + 1) % 10 === 0) console.error(`${i + 1} cuts, ${writers.acknowledged.length} acknowledged`)
  }
  await writers.stop()
  const { faults } = await judgeLedger(writers.acknowledged, edge, upstream)
  const facts = { cuts: flags.cuts, stopped: flags.stop !== 0, ...writers.facts() }
  report('power-cut', facts, faults.map(withInstant))
} finally {
  const stopped = writers?.stop() // ends when the gateways have: what is being put is refused
  for (const node of [edge, upstream]) await node?.kill('SIGKILL')
  await stopped
  for (const disk of Object.values(disks)) disk.unmount()
}

/**
 * Adds to a fault of a model how long before the next cut, or after the last one, the model was acknowledged.
 */
function withInstant(fault) {
  const entry = writers.acknowledged.find(({ modelId }) => fault.includes(modelId))
  if (entry === undefined) return fault
  const near = cuts.map(({ name, cutMs, downMs }) => ({
    name,
    after: entry.ackMs - cutMs,
    took: downMs - cutMs,
  }))
  const nearest = near.sort((a, b) => Math.abs(a.after) - Math.abs(b.after))[0]
  return `${fault}; acknowledged ${nearest.after.toFixed(1)} ms after the cut of ${nearest.name} began, which took ${nearest.took.toFixed(1)} ms`
}

function pickSize() {
  return Math.round(1000 + random() * (random() < 0.9 ? 100_000 : flags.maxBytes))
}
