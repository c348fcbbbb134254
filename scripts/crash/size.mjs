import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, createReadStream, fsyncSync, openSync, writeSync } from 'node:fs'
import path from 'node:path'
import { statusMb } from '../proc.mjs'
import { readFlags, report } from './flags.mjs'
import { allModels, put, waitForOutbox } from './models.mjs'
import { connect, createNode, makeWorkspace } from './node.mjs'

/**
 * Size: a 2 GB upload and its push to another gateway, with the memory of both watched, and beside it `cp`,
 * `sync` and `sha256sum` of the same file in the same run.
 */
const flags = readFlags({ sizeBytes: 2_000_000_000, maxRssBytes: 160_000_000 })
const workspace = makeWorkspace('size')
// as the service's unit sets it: one malloc arena, for glibc keeps what a thread freed in that thread's own
const memory = { MALLOC_ARENA_MAX: '1' }
const edge = await createNode(workspace, 'edge', memory)
const upstream = await createNode(workspace, 'upstream', memory)
await upstream.start()
await edge.start()
const file = path.join(workspace.dir, 'model.dat')
const sha256 = writeModel(file, flags.sizeBytes)
const faults = []

const copySeconds = timed(() => {
  for (const command of [
    ['cp', file, `${file}.copy`],
    ['sync', `${file}.copy`],
    ['sha256sum', `${file}.copy`],
    ['rm', `${file}.copy`],
  ])
    if (spawnSync(command[0], command.slice(1)).status !== 0) throw new Error(command.join(' '))
})

// the push begins with the upload's end: paused first, so that each is measured alone
spawnSync(process.execPath, [workspace.program, 'sync', 'pause', '--data-dir', edge.dataDir])
await new Promise((resolve) => setTimeout(resolve, 1500))
const idle = { edge: rss(edge), upstream: rss(upstream) }
const uploadMs = performance.now()
const info = await put(edge, {
  sizeBytes: flags.sizeBytes,
  chunks: createReadStream(file, { highWaterMark: 1024 * 1024 }),
})
const uploadSeconds = (performance.now() - uploadMs) / 1000
if (info.model_sha256 !== sha256) faults.push('the upload has another digest')
const afterUpload = peak(edge)

const connecting = await connect(edge, upstream)
spawnSync(process.execPath, [workspace.program, 'sync', 'resume', '--data-dir', edge.dataDir])
const pushMs = performance.now()
await edge
  .rpc('/api/v2/fl/jsonrpc', 'fl.feedback', { model_store_ddc: 'load', model_id: info.model_id })
  .catch((error) => {
    if (error.rpc?.data?.queued !== true) throw error
  })
await waitForOutbox(edge)
const pushSeconds = (performance.now() - pushMs) / 1000
const there = await allModels(upstream)
if (there.length !== 1 || there[0].model_sha256 !== sha256) faults.push('the push has another digest')
const peaks = { edge: peak(edge), upstream: peak(upstream) }
for (const [name, bytes] of Object.entries(peaks))
  if (bytes > flags.maxRssBytes)
    faults.push(`${name} took ${bytes} bytes of memory, expected at most ${flags.maxRssBytes}`)
for (const node of [edge, upstream]) await node.kill('SIGTERM')
const rate = (seconds) => Math.round(flags.sizeBytes / seconds / 1e5) / 10
report(
  'size',
  {
    sizeBytes: flags.sizeBytes,
    upstreamId: connecting.id,
    seconds: { copyAndDigest: round(copySeconds), upload: round(uploadSeconds), push: round(pushSeconds) },
    megabytesPerSecond: {
      copyAndDigest: rate(copySeconds),
      upload: rate(uploadSeconds),
      push: rate(pushSeconds),
    },
    rssMegabytes: {
      edgeIdle: megabytes(idle.edge),
      upstreamIdle: megabytes(idle.upstream),
      edgeAfterUpload: megabytes(afterUpload),
      edgePeak: megabytes(peaks.edge),
      upstreamPeak: megabytes(peaks.upstream),
    },
  },
  faults,
)

function writeModel(target, sizeBytes) {
  const handle = openSync(target, 'w')
  const hash = createHash('sha256')
  const block = randomBytes(8 * 1024 * 1024)
  for (let left = sizeBytes, n = 0; left > 0; n++) {
    block.writeUInt32LE(n, 0)
    const piece = block.subarray(0, Math.min(left, block.length))
    hash.update(piece)
    writeSync(handle, piece)
    left -= piece.length
  }
  fsyncSync(handle)
  closeSync(handle)
  return hash.digest('hex')
}

function rss(node) {
  return statusMb(node.child.pid, 'VmRSS') * 1024 ** 2
}

/** highest resident memory since the start */
function peak(node) {
  return statusMb(node.child.pid, 'VmHWM') * 1024 ** 2
}

function timed(work) {
  const startMs = performance.now()
  work()
  return (performance.now() - startMs) / 1000
}

function round(value) {
  return Math.round(value * 10) / 10
}

function megabytes(bytes) {
  return Math.round(bytes / 1e6)
}
