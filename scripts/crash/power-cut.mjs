import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
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
 * Power-cut test: the edge's data directory, then the upstream's, lies on an XFS of its own on a loop device,
 * whose unsynced writes are thrown away at random instants (`xfs_io -x -c shutdown`). Same ledger, same
 * result as the kill test. Needs root and xfsprogs.
 *
 * A power cut ends the program and its disk at one instant; a shutdown of the file system alone lets the
 * program run on while the kernel is throwing its log away. So the program is stopped first (`--stop 0`
 * leaves that out): whatever it acknowledged, it acknowledged while the disk was still there.
 */
const flags = readFlags({ cuts: 100, writers: 4, seed: 1, megabytes: 3000, maxBytes: 5_000_000, stop: 1 })
const missing = whyNot()
if (missing !== null) {
  console.log(JSON.stringify({ test: 'power-cut', skipped: missing }))
  process.exit(0)
}
const random = createRandom(flags.seed)
const workspace = makeWorkspace('cut')
const disks = { edge: makeDisk('edge'), upstream: makeDisk('upstream') }
const ledger = []
let isOver = false
const cuts = []
let refused = 0
let edge
let upstream
try {
  edge = await createNode(workspace, 'edge', {}, path.join(disks.edge.dir, 'data'))
  upstream = await createNode(workspace, 'upstream', {}, path.join(disks.upstream.dir, 'data'))
  await upstream.start()
  await edge.start()
  await connect(edge, upstream)
  // what was set up before the first cut is not what is tested
  run('sync')
  const modelOf = createModelBytes(flags.maxBytes)
  const writers = Array.from({ length: flags.writers }, () => write(modelOf))
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
    if ((i + 1) % 10 === 0) console.error(`${i + 1} cuts, ${ledger.length} acknowledged`)
  }
  isOver = true
  await Promise.all(writers)
  await waitForOutbox(edge)
  for (const node of [edge, upstream]) {
    await node.kill('SIGTERM')
    await node.start()
  }
  await sleep(2000)
  const faults = await compareWithLedger(ledger, edge, upstream)
  const bytes = ledger.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const facts = { cuts: flags.cuts, stopped: flags.stop !== 0, acknowledged: ledger.length, bytes, refused }
  report('power-cut', facts, faults.map(withInstant))
} finally {
  isOver = true
  for (const node of [edge, upstream]) await node?.kill('SIGKILL')
  for (const disk of Object.values(disks)) disk.unmount()
}

/**
 * Adds to a fault of a model how long before the next cut, or after the last one, the model was acknowledged.
 */
function withInstant(fault) {
  const entry = ledger.find(({ modelId }) => fault.includes(modelId))
  if (entry === undefined) return fault
  const near = cuts.map(({ name, cutMs, downMs }) => ({
    name,
    after: entry.ackMs - cutMs,
    took: downMs - cutMs,
  }))
  const nearest = near.sort((a, b) => Math.abs(a.after) - Math.abs(b.after))[0]
  return `${fault}; acknowledged ${nearest.after.toFixed(1)} ms after the cut of ${nearest.name} began, which took ${nearest.took.toFixed(1)} ms`
}

async function write(modelOf) {
  while (!isOver) {
    const dice = random()
    const model = modelOf(
      Math.round(dice < 0.9 ? 1000 + random() * 100_000 : 1000 + random() * flags.maxBytes),
    )
    try {
      const info = await put(edge, model)
      const ackMs = performance.now()
      ledger.push({ modelId: info.model_id, sha256: model.sha256, sizeBytes: model.sizeBytes, ackMs })
    } catch {
      refused++
      await sleep(50)
    }
    await sleep(random() * 60)
  }
}

function makeDisk(name) {
  const image = path.join(workspace.dir, `${name}.img`)
  const dir = path.join(workspace.dir, `${name}-disk`)
  run('truncate', '-s', `${flags.megabytes}M`, image)
  run('mkfs.xfs', '-q', image)
  mkdirSync(dir)
  const disk = {
    dir,
    isMounted: false,
    mount() {
      run('mount', '-o', 'loop', image, dir)
      disk.isMounted = true
    },
    unmount() {
      if (disk.isMounted) run('umount', dir)
      disk.isMounted = false
    },
  }
  disk.mount()
  return disk
}

function whyNot() {
  if (process.getuid() !== 0) return 'mounting a loop device needs root'
  const tools = ['mkfs.xfs', 'xfs_io', 'mount', 'umount'].filter(
    (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0,
  )
  return tools.length === 0 ? null : `${tools.join(', ')} missing (package xfsprogs)`
}

function run(...command) {
  const { status, stderr, error } = spawnSync(command[0], command.slice(1), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr ?? error}`)
}
