// What a gateway costs a board: size, start, memory and idle CPU, beside a bare hono server on the same Node.
// --no-xz leaves out the packed size, which takes a minute. After `npm run build:binary -- --without-hub` an executable
// without the parts of a hub runs beside the other.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UNIT_ENV } from '../node-flags.mjs'
import { startRan, statusMb } from '../proc.mjs'

const PORTO = path.resolve('../shared/data/osm/porto_portugal.osm.pbf')
const STARTS = 12
/** Allocations of the start are collected by then. */
const SETTLE_MS = 8000
const IDLE_S = 60

export async function run() {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const executable = path.resolve('build', `fieldgate-${version}-linux-${process.arch}`)
  if (!existsSync(executable)) throw new Error(`${executable} does not exist: run npm run build:binary`)
  const folder = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-footprint-'))
  try {
    // as an installation leaves it: a file that one write made lies in the page cache in pieces of megabytes,
    // and the system maps a whole piece where one page is read (15 MB more of RSS)
    const installed = path.join(folder, 'fieldgate')
    execFileSync('cp', [executable, installed])
    const servers = serversOf(installed, folder)
    printSizes(executable)
    const withoutHub = `${executable}-without-hub`
    if (existsSync(withoutHub)) {
      execFileSync('cp', [withoutHub, `${installed}-without-hub`])
      const command = [`${installed}-without-hub`, ...serve(path.join(folder, 'without-hub'))]
      servers.push({ title: 'executable without the hub, no map', command })
      printSizes(withoutHub)
    }
    for (const server of servers) await printStarts(server)
    await printIdle(servers)
    printBundle()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function serversOf(executable, folder) {
  const withPorto = path.join(folder, 'porto')
  const plain = path.resolve('dist/fieldgate.cjs')
  const servers = [
    { title: 'bare hono', command: [process.execPath, 'scripts/bench/bare-hono.mjs'] },
    { title: 'executable, no map', command: [executable, ...serve(path.join(folder, 'empty'))] },
    {
      title: 'plain files, no map',
      command: [process.execPath, '--max-semi-space-size=1', plain, ...serve(path.join(folder, 'plain'))],
    },
  ]
  if (!existsSync(PORTO)) {
    console.log(`skipped Porto: ${PORTO} does not exist`)
    return servers
  }
  execFileSync(executable, ['init', '--data-dir', withPorto, '--json'])
  execFileSync(executable, ['map', 'build', PORTO, '--data-dir', withPorto], { stdio: 'ignore' })
  return [...servers, { title: 'executable, Porto', command: [executable, ...serve(withPorto)] }]
}

function serve(dataDir) {
  return ['serve', '--data-dir', dataDir, '--port', '0', '--json']
}

function printSizes(executable) {
  const size = `executable ${mb(statSync(executable).size)} MB`
  // a minute of both cores
  if (process.argv.includes('--no-xz')) return console.log(size)
  const packed = spawnSync('sh', ['-c', `xz -6 -T2 -c '${executable}' | wc -c`], { encoding: 'utf8' })
  console.log(`${size}, xz ${mb(Number(packed.stdout))} MB`)
}

async function printStarts({ title, command }) {
  const times = []
  for (let i = 0; i <= STARTS; i++) {
    const server = await start(command)
    if (i > 0) times.push(server.firstAnswerMs) // the first run makes the data directory and fills the page cache
    await stop(server)
  }
  times.sort((a, b) => a - b)
  const median = times[times.length >> 1]
  console.log(
    `${title}: first answer after min ${times[0].toFixed(0)}, median ${median.toFixed(0)} ms of ${STARTS} starts`,
  )
}

async function printIdle(servers) {
  const running = []
  for (const { title, command } of servers) running.push({ title, ...(await start(command)) })
  await sleep(SETTLE_MS)
  const ran = running.map(({ child }) => startRan(child.pid))
  await sleep(IDLE_S * 1000)
  for (const [i, { title, child }] of running.entries()) {
    const share = (ran[i]() / IDLE_S) * 100
    const [rss, anon] = ['VmRSS', 'RssAnon'].map((field) => mb(statusMb(child.pid, field) * 1024 ** 2))
    console.log(
      `${title}: idle RSS ${rss} MB, anonymous ${anon} MB, CPU ${share.toFixed(2)} % over ${IDLE_S} s`,
    )
  }
  for (const server of running) await stop(server)
}

/** @returns the process, and how long it took from its start to the end of its first answer */
async function start([file, ...argv]) {
  const startedAt = performance.now()
  const env = { PATH: process.env.PATH, FIELDGATE_LOG__LEVEL: 'warn', ...UNIT_ENV }
  const child = spawn(file, argv, {
    env,
    stdio: ['ignore', 'pipe', 'inherit', ...(argv[0]?.endsWith('.mjs') ? ['ipc'] : [])],
  })
  let text = ''
  const url = await new Promise((resolve, reject) => {
    child.once('message', (port) => resolve(`http://127.0.0.1:${port}`))
    child.stdout.on('data', (chunk) => {
      text += chunk
      if (text.includes('\n')) resolve(JSON.parse(text).url)
    })
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)))
  })
  await (await fetch(`${url}/healthz`)).text()
  return { child, firstAnswerMs: performance.now() - startedAt }
}

async function stop({ child }) {
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** Bytes of the bundle by package, and by room of our own. */
function printBundle() {
  const { outputs } = JSON.parse(readFileSync('build/bundle.json', 'utf8'))
  const [bundle] = Object.values(outputs)
  const sizes = new Map()
  for (const [file, { bytesInOutput }] of Object.entries(bundle.inputs)) {
    const owner =
      /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? file.split('/').slice(0, 2).join('/')
    sizes.set(owner, (sizes.get(owner) ?? 0) + bytesInOutput)
  }
  const rows = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, 20)
  console.log(
    `bundle ${Math.round(bundle.bytes / 1000)} kB: ${rows.map(([name, n]) => `${name} ${Math.round(n / 1000)}`).join(', ')}`,
  )
}

function mb(bytes) {
  return (bytes / 1e6).toFixed(1)
}
