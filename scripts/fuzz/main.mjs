// npm run fuzz: inputs made by grammars from a seed, against the program's codecs and against a running
// gateway. A crash, a hang, an HTTP 500, an INTERNAL, a response that reveals internals and a line of level
// error in the log are failures. Options: --minutes=N (15), --seed=N (of the day), --only=TARGET,…,
// --one=SEED (that input alone, with --only)
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import { startGateway } from '../bench/gateway.mjs'
import { readOptions } from '../options.mjs'
import { createCalls, prepare } from './calls.mjs'

const options = {
  minutes: 15,
  seed: Math.floor(Date.now() / 86_400_000),
  only: '',
  ...readOptions('fuzz', { minutes: 'number', seed: 'number', only: 'text', one: 'number' }),
}
const only = options.only === '' ? [] : options.only.split(',')
/** Time without output after which a codec counts as hanging. */
const SILENT_MS = 60_000
/** of each target */
const SHOWN_FAILURES = 3
/** No request is sent to an upstream that a random text names. */
const QUIET = { FIELDGATE_SYNC__PAUSED: 'true', FIELDGATE_SYNC__WAIT_S: '0' }
const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-fuzz-'))
const counts = new Map()
const failures = []

console.log(`seed ${options.seed}, ${options.minutes} minutes`)
const { program, libFile } = await bundle()
const gateway = await startGateway({ program, env: QUIET, args: ['--demo'], onLog: watchLog })
let endAt = performance.now() + options.minutes * 60_000
try {
  await prepare(gateway)
  endAt = performance.now() + (options.one === undefined ? options.minutes * 60_000 : 0)
  await Promise.all([fuzzCodecs(), fuzzCalls()])
} finally {
  await gateway.stop().catch((error) => fail('gateway', 0, '', `it did not stop: ${error.message}`))
  rmSync(dir, { recursive: true })
}
for (const [target, times] of counts) console.log(`${target.padEnd(10)} ${times} inputs`)
console.log(failures.length === 0 ? 'no failure' : `${failures.length} failures`)
process.exit(failures.length === 0 ? 0 : 1)

/** The sources as they are, not what was built some day. */
async function bundle() {
  mkdirSync('build/fuzz', { recursive: true })
  const common = {
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['better-sqlite3'],
    logLevel: 'warning',
  }
  const program = path.resolve('build/fuzz/program.cjs')
  const libFile = path.resolve('build/fuzz/lib.cjs')
  await build({ ...common, entryPoints: ['src/main.ts'], outfile: program })
  await build({ ...common, entryPoints: ['scripts/fuzz/lib.ts'], outfile: libFile })
  return { program, libFile }
}

function fuzzCodecs() {
  const graphFile = path.join(gateway.dataDir, 'maps', 'demo-town.graph')
  const endAtMs = performance.timeOrigin + endAt
  const workerData = { libFile, graphFile, dir, seed: options.seed * 1_000_003, endAtMs, only }
  if (options.one !== undefined)
    Object.assign(workerData, { seed: options.one, endAtMs: Number.POSITIVE_INFINITY })
  const worker = new Worker(new URL('codecs.mjs', import.meta.url), { workerData })
  let current = { target: '-', seed: 0 }
  return new Promise((resolve) => {
    let timer
    const end = () => {
      clearTimeout(timer)
      void worker.terminate()
      resolve()
    }
    const wait = () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        fail(current.target, current.seed, '', 'hangs')
        end()
      }, SILENT_MS)
    }
    wait()
    worker.on('error', (error) => {
      fail(current.target, current.seed, '', error.stack)
      end()
    })
    worker.on('message', (message) => {
      wait()
      if (message.kind === 'begin') current = message
      else if (message.kind === 'done') count(message.target, message.times)
      else if (message.kind === 'failed') fail(message.target, message.seed, message.input, message.error)
      if (message.kind === 'end' || (options.one !== undefined && message.kind === 'done')) end()
    })
  })
}

async function fuzzCalls() {
  const targets = Object.entries(await createCalls(gateway)).filter(
    ([name]) => only.length === 0 || only.includes(name),
  )
  if (targets.length === 0) return
  let next = options.seed * 1_000_003
  const client = async () => {
    do {
      const seed = options.one ?? next++
      const [name, run] = targets[seed % targets.length]
      const found = await run(seed)
      count(name, 1)
      if (found !== undefined) fail(name, seed, found.input, found.problem)
    } while (performance.now() < endAt && failures.length < 1000)
  }
  await Promise.all(Array.from({ length: options.one === undefined ? 4 : 1 }, client))
}

function watchLog(line) {
  if (/"level":"(error|fatal)"/.test(line)) fail('log', 0, '', line.slice(0, 1500))
}

function count(target, times) {
  counts.set(target, (counts.get(target) ?? 0) + times)
}

function fail(target, seed, input, problem) {
  failures.push(target)
  if (failures.filter((name) => name === target).length > SHOWN_FAILURES) return
  console.log(
    `FAILED ${target} (--only=${target} --one=${seed}): ${problem}\n  input: ${String(input).slice(0, 2000)}`,
  )
}
