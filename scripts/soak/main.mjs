// npm run soak: mixed traffic against a separate gateway, to find growth: memory, handles, logs, disk,
// slowness. Options: --minutes=N (30), --per-second=N (20), --data-dir=DIR (kept), --samples=N (60) Exit code
// 1 when a call failed, or when something grows. Runs under ten minutes are too short to judge growth by.
import { readdirSync, statSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '../bench/gateway.mjs'
import { post, spread } from '../bench/load.mjs'
import { createTraffic } from '../bench/traffic.mjs'
import { readOptions } from '../options.mjs'
import { judge, MIN_MINUTES } from './judge.mjs'

const options = {
  minutes: 30,
  'per-second': 20,
  samples: 60,
  ...readOptions('soak', {
    minutes: 'number',
    'per-second': 'number',
    samples: 'number',
    'data-dir': 'path',
  }),
}
const CLIENTS = 8
const gateway = await startGateway({
  args: ['--demo'],
  env: { MALLOC_ARENA_MAX: '1' }, // as the unit has it
  ...(options['data-dir'] === undefined ? {} : { dataDir: options['data-dir'] }),
})
const failures = []
// the gateway may have received the same Ctrl-C and ended
const end = () => stop().catch(() => undefined)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => end().finally(() => process.exit(130)))
try {
  const next = await createTraffic(gateway, 5)
  const samples = await watch(next)
  process.exitCode = report(samples)
} finally {
  await stop()
}

/** Removes the directory if it was created for this run; one given by the caller stays. */
function stop() {
  return gateway.stop({ keep: options['data-dir'] !== undefined })
}

/** Sends calls at the given rate, and samples the gateway at intervals. */
async function watch(next) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS })
  const endAt = performance.now() + options.minutes * 60_000
  const everyMs = (options.minutes * 60_000) / options.samples
  const samples = []
  let took = []
  const client = async (beatMs) => {
    for (let at = performance.now() + Math.random() * beatMs; at < endAt; at += beatMs) {
      await sleep(Math.max(0, at - performance.now()))
      const startedAt = performance.now()
      await send(agent, next())
      took.push(performance.now() - startedAt)
      at = Math.max(at, performance.now() - beatMs) // what was missed is not made up for
    }
  }
  const clients = Array.from({ length: CLIENTS }, () => client((CLIENTS * 1000) / options['per-second']))
  console.log('   s    calls     p50 ms   p99 ms   RSS MB  heap MB  handles  WAL MB  disk MB  loop p99 ms')
  for (let i = 1; i <= options.samples; i++) {
    await sleep(Math.max(0, endAt - (options.samples - i) * everyMs - performance.now()))
    samples.push(await look(took, i * everyMs))
    took = []
  }
  await Promise.all(clients)
  agent.destroy()
  return samples
}

async function send(agent, { name, ...request }) {
  let answer = ''
  const onBody = (text) => {
    answer = text
  }
  try {
    const status = await post({ agent, host: '127.0.0.1', port: gateway.port, ...request, onBody })
    if (status === 200 && !/^\{"jsonrpc":"2.0","error"/.test(answer)) return
    failures.push(`${name}: HTTP ${status} ${answer.slice(0, 300)}`)
  } catch (error) {
    failures.push(`${name}: ${error.message}`)
  }
}

async function look(took, atMs) {
  const { page, sum } = await gateway.metrics()
  const { p50Ms, p99Ms } = spread(took)
  const sample = {
    s: atMs / 1000,
    calls: took.length,
    p50Ms,
    p99Ms,
    rssMb: sum('process_resident_memory_bytes') / 2 ** 20,
    heapMb: (sum('process_heap_bytes') + sum('process_external_bytes')) / 2 ** 20,
    handles: sum('process_open_fds') + sum('fieldgate_worker_calls'),
    walMb: sum('fieldgate_wal_bytes') / 2 ** 20,
    diskMb: diskBytes(gateway.dataDir) / 2 ** 20,
    loopP99Ms: 1000 * Number(/fieldgate_event_loop_delay_seconds\{quantile="0.99"\} (\S+)/.exec(page)?.[1]),
  }
  const cell = (value, width, digits = 1) => value.toFixed(digits).padStart(width)
  console.log(
    `${cell(sample.s, 5, 0)} ${cell(sample.calls, 8, 0)} ${cell(p50Ms, 9, 2)} ${cell(p99Ms, 8)} ${cell(sample.rssMb, 8)} ${cell(sample.heapMb, 8)} ${cell(sample.handles, 8, 0)} ${cell(sample.walMb, 7)} ${cell(sample.diskMb, 8)} ${cell(sample.loopP99Ms, 8)}`,
  )
  return sample
}

/** Bytes of the files without the logs, which have a separate column. */
function diskBytes(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('-wal'))
    .reduce(
      (sum, entry) =>
        sum + (statSync(path.join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    )
}

function report(samples) {
  const calls = samples.reduce((sum, { calls }) => sum + calls, 0)
  console.log(`${calls} calls, ${failures.length} failed`)
  for (const line of failures.slice(0, 5)) console.log(`FAILED ${line}`)
  const isJudged = options.minutes >= MIN_MINUTES
  const verdicts = judge(samples)
  for (const { what, first, last, limit, isGrowing } of verdicts) {
    const word = !isJudged ? 'not judged' : isGrowing ? 'GROWS' : 'ok'
    console.log(
      `${what.padEnd(12)} ${first.toFixed(1)} -> ${last.toFixed(1)} (at most ${limit.toFixed(1)}): ${word}`,
    )
  }
  if (!isJudged) console.log(`growth is judged from ${MIN_MINUTES} minutes on`)
  const hasGrown = isJudged && verdicts.some(({ isGrowing }) => isGrowing)
  return failures.length === 0 && !hasGrown ? 0 : 1
}
