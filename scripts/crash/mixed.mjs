import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../random.mjs'
import { readFlags, report } from './flags.mjs'
import { checkDatabases } from './ledger.mjs'
import { createMixedLoad } from './mixed-load.mjs'
import { ownMounts } from './mounts.mjs'
import { createNode, makeWorkspace, runVerb } from './node.mjs'

/**
 * Mixed test: calls of every kind that writes (rows, datasets, citations, models, resumable uploads, deletes,
 * sessions) while the gateway is killed, loses its disk, or meets failing I/O; after each of these, what was
 * acknowledged is read. `--kills 1000`, `--cuts 200` (root, xfsprogs) and `--faults 500` (gcc) are the long
 * form. A failing run names its seed.
 */
ownMounts()
const flags = readFlags({
  kills: 1000,
  cuts: 200,
  faults: 500,
  seed: 1,
  maxBytes: 2_000_000,
  megabytes: 1500,
  writers: 6,
})
const random = createRandom(flags.seed)
const found = []
/** Operation that fails, by its number in faulty-io.c; errors by their number in errno.h, -1 for half of the bytes. */
const CALLS = { write: 1, sync: 2, open: 3, read: 4 }
const ERRORS = { EIO: 5, ENOSPC: 28, EMFILE: 24, SHORT: -1 }
const FAULTS = [
  ...['EIO', 'ENOSPC', 'SHORT'].map((error) => ['write', error]),
  ...['EIO', 'ENOSPC'].map((error) => ['sync', error]),
  ...['EIO', 'EMFILE', 'ENOSPC'].map((error) => ['open', error]),
  ['read', 'EIO'],
]
const PLACES = ['/data.db-wal', '/state.db-wal', '/data.db', '/state.db', '/models/', '/parts/', '/tmp/', '']

if (flags.kills > 0) await campaign('mixed-kill', flags.kills, await killed())
if (flags.cuts > 0) await campaign('mixed-cut', flags.cuts, await cut())
if (flags.faults > 0) await campaign('mixed-io', flags.faults, await faulty())
process.exitCode = found.length > 0 ? 1 : 0

/** Strikes `count` times, checks after each, then once more the whole. */
async function campaign(
  name,
  count,
  { skipped, node, workspace, strike, facts = () => ({}), end = () => undefined },
) {
  if (skipped !== undefined) {
    console.log(JSON.stringify({ test: name, skipped }))
    return
  }
  const faults = []
  const { seed, maxBytes, writers } = flags
  const load = createMixedLoad(node, { seed, maxBytes, writers })
  let done = 0
  try {
    await node.start()
    await load.prepare()
    for (; done < count && faults.length < 20; done++) {
      load.run()
      await sleep(150 + random() * 700)
      const what = await strike(done)
      await load.stop()
      const wrong = await load.check(false).catch((error) => [`the check failed: ${error.message}`])
      faults.push(...wrong.map((fault) => `${name} ${done + 1} (${what}): ${fault}`))
      if ((done + 1) % 25 === 0) console.error(`${name}: ${done + 1}, ${faults.length} faults`)
    }
    faults.push(...(await load.check(true).catch((error) => [`the last check failed: ${error.message}`])))
    await node.kill('SIGTERM')
    faults.push(...(await checkDatabases(node.dataDir)))
    runVerb(workspace, ['cite', 'verify', '--data-dir', node.dataDir])
  } catch (error) {
    faults.push(`${error.message}; the log ends: ${node.log.slice(-500)}`)
  } finally {
    await node.kill('SIGKILL')
    await load.stop() // its calls are refused now
    end()
  }
  found.push(...faults)
  report(name, { strikes: done, seed, ...load.facts(), ...facts() }, faults)
}

async function killed() {
  const workspace = makeWorkspace('mixed-kill')
  const node = await createNode(workspace, 'node')
  return {
    node,
    workspace,
    async strike() {
      await node.kill('SIGKILL')
      await node.start()
      return 'SIGKILL'
    },
  }
}

async function cut() {
  if (process.getuid() !== 0) return { skipped: 'mounting a loop device needs root' }
  if (spawnSync('sh', ['-c', 'command -v mkfs.xfs && command -v xfs_io']).status !== 0)
    return { skipped: 'mkfs.xfs, xfs_io missing (package xfsprogs)' }
  const workspace = makeWorkspace('mixed-cut')
  const [image, dir] = [path.join(workspace.dir, 'disk.img'), path.join(workspace.dir, 'disk')]
  run('truncate', '-s', `${flags.megabytes}M`, image)
  run('mkfs.xfs', '-q', image)
  mkdirSync(dir)
  run('mount', '-o', 'loop', image, dir)
  const node = await createNode(workspace, 'node', {}, path.join(dir, 'data'))
  run('sync')
  return {
    node,
    workspace,
    async strike() {
      await node.freeze() // program and disk end at one instant
      run('xfs_io', '-x', '-c', 'shutdown', dir)
      await node.kill('SIGKILL')
      run('umount', dir)
      run('mount', '-o', 'loop', image, dir)
      await node.start()
      return 'power cut'
    },
    end: () => run('umount', dir),
  }
}

async function faulty() {
  if (spawnSync('gcc', ['--version']).status !== 0) return { skipped: 'gcc missing' }
  const workspace = makeWorkspace('mixed-io')
  const library = path.join(workspace.dir, 'faulty-io.so')
  run('gcc', '-shared', '-fPIC', '-O2', '-o', library, 'scripts/crash/faulty-io.c', '-ldl')
  const control = path.join(workspace.dir, 'control')
  const fd = openSync(control, 'w+')
  writeSync(fd, Buffer.alloc(256), 0, 256, 0)
  const node = await createNode(workspace, 'node', { FAULTY_IO: control, LD_PRELOAD: library })
  let hits = 0
  let ended = 0
  const arm = (armed, call, error, skip, place) => {
    const words = Buffer.alloc(256)
    ;[0, call, error, skip, 0].forEach((value, i) => {
      words.writeInt32LE(value, i * 4)
    })
    words.write(place, 20, 'latin1')
    writeSync(fd, words, 0, 256, 0)
    // last, for it makes the others count
    words.writeInt32LE(armed, 0)
    writeSync(fd, words, 0, 4, 0)
  }
  const hitsNow = () => {
    const words = Buffer.alloc(20)
    readSync(fd, words, 0, 20, 0)
    return words.readInt32LE(16)
  }
  return {
    node,
    workspace,
    facts: () => ({ failedCalls: hits, endedByThemselves: ended }),
    end: () => closeSync(fd),
    async strike(i) {
      const [call, error] = FAULTS[i % FAULTS.length]
      const place = PLACES[Math.floor(random() * PLACES.length)]
      const count = random() < 0.5 ? 1 : 50
      // below the data directory only: the program itself is on a good disk
      arm(
        count,
        CALLS[call],
        ERRORS[error],
        Math.floor(random() * 20),
        place === '' ? node.dataDir : `${path.basename(node.dataDir)}${place}`,
      )
      await sleep(400)
      hits += hitsNow()
      arm(0, 0, 0, 0, '')
      const what = `${error} of ${call}, ${count} times, at ${place || 'any file'}`
      if (node.child.exitCode !== null || node.child.signalCode !== null) {
        ended++
        await node.start()
        return `${what}; it ended`
      }
      await becomesReady(what)
      return what
    },
  }

  /** The disk is good again: without a restart the gateway must be, too. */
  async function becomesReady(what) {
    for (let i = 0; i < 100; i++) {
      const answer = await fetch(`${node.url}/readyz`).catch(() => undefined)
      if (answer?.status === 200) return
      await sleep(200)
    }
    const answer = await fetch(`${node.url}/readyz`)
    throw new Error(`not ready 20 s after ${what}: ${(await answer.text()).slice(0, 500)}`)
  }
}

function run(...command) {
  const { status, stderr, error } = spawnSync(command[0], command.slice(1), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr ?? error}`)
}
