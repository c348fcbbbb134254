// npm run fleet: thousands of simulated gateways over real HTTP against a running hub: joining, feeds, reports, models,
// outages, storms of reconnects, slow links and restarts. At the end everything that the hub acknowledged is compared
// with what it has. Flags with their defaults: flags.mjs. Exit code 1 when the ledger does not hold.
import { fork } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { readFleetFlags } from './flags.mjs'
import { addStats, createStats, summaryOf } from './stats.mjs'

/** Time between the last gateway that joined and the beginning of the run. */
const PAUSE_MS = 500
const PROGRESS_MS = 10_000

const flags = readFleetFlags()
const children = startProcesses()
let telling
try {
  await Promise.all(children.map(({ joined }) => joined))
  const startAtMs = Date.now() + PAUSE_MS
  console.error(`${flags.gateways} gateways are members`)
  tell({ start: { startAtMs } })
  telling = tellProgress(startAtMs)
  const interrupted = new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
  const failed = Promise.all(children.map(({ result }) => result))
  // a run that is interrupted does not wait for its end: the processes keep this one alive, not the timer
  const over = sleep(flags.minutes * 60_000 + PAUSE_MS, undefined, { ref: false })
  await Promise.race([over, interrupted, failed])
  const seconds = Math.min(flags.minutes * 60, (Date.now() - startAtMs) / 1000)
  tell({ drain: {} })
  const results = await Promise.all(children.map(({ result }) => result))
  if (flags.state !== '') keep(results.flatMap(({ kept }) => kept))
  process.exitCode = print(results, seconds)
} catch (error) {
  console.error(`fleet: ${error.message}`)
  process.exitCode = 1
} finally {
  clearInterval(telling)
  for (const { child } of children) child.kill()
}

/** Starts the processes, each with a part of the gateways. */
function startProcesses() {
  const kept =
    flags.state !== '' && existsSync(flags.state) ? JSON.parse(readFileSync(flags.state, 'utf8')) : []
  const token = existsSync(flags.token) ? readFileSync(flags.token, 'utf8').trim() : flags.token
  if (token === '' && kept.length < flags.gateways)
    throw new Error(
      `--state: found ${kept.length} gateways, expected ${flags.gateways}, or --token for the others`,
    )
  const count = Math.min(flags.processes, flags.gateways)
  const bound = (at) => Math.floor((flags.gateways * at) / count)
  return Array.from({ length: count }, (_, at) => {
    const [from, to] = [bound(at), bound(at + 1)]
    const child = fork(new URL('process.mjs', import.meta.url), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.send({ flags, token, from, to, kept: kept.slice(from, to) })
    return repliesOf(child)
  })
}

function repliesOf(child) {
  const replies = { child, counts: undefined }
  const ended = new Promise((_, reject) => {
    child.on('message', ({ failed }) => {
      if (failed !== undefined) reject(new Error(failed))
    })
    child.on('exit', (code, signal) => reject(new Error(`a process ended with ${code ?? signal}`)))
  })
  ended.catch(() => undefined) // each wait below is told of it
  const reply = (name) =>
    Promise.race([
      ended,
      new Promise((resolve) => child.on('message', (message) => name in message && resolve(message))),
    ])
  child.on('message', ({ progress }) => {
    if (progress !== undefined) replies.counts = progress
  })
  const [joined, result] = [reply('joined'), reply('stats')]
  for (const each of [joined, result]) each.catch(() => undefined) // awaited later
  return Object.assign(replies, { joined, result })
}

function tell(message) {
  for (const { child } of children) child.send(message)
}

function tellProgress(startAtMs) {
  return setInterval(() => {
    const sum = (name) => children.reduce((total, { counts }) => total + (counts?.[name] ?? 0), 0)
    const seconds = Math.round((Date.now() - startAtMs) / 1000)
    console.error(`${seconds} s: ${sum('rows')} rows, ${sum('batches')} batches, ${sum('retries')} retries`)
  }, PROGRESS_MS)
}

function keep(gateways) {
  writeFileSync(`${flags.state}.new`, `[${gateways.map((each) => JSON.stringify(each)).join(',\n')}]\n`)
  renameSync(`${flags.state}.new`, flags.state)
}

/** @returns exit code */
function print(results, seconds) {
  const stats = createStats()
  for (const result of results) addStats(stats, result.stats)
  const sum = (read) => results.reduce((total, result) => total + read(result), 0)
  const faultCount = sum((result) => result.faultCount)
  const summary = {
    ...{ ok: faultCount === 0, gateways: flags.gateways, seconds: Math.round(seconds) },
    ...summaryOf(stats, seconds),
    rowsCompared: sum(({ checked }) => checked.rows),
    rowsReadBack: sum(({ checked }) => checked.readBack),
    ...{ faultCount, faults: results.flatMap(({ faults }) => faults).slice(0, 20) },
  }
  if (flags.json === 'yes') console.log(JSON.stringify(summary))
  else
    for (const [name, value] of Object.entries(summary))
      console.log(`${name.padEnd(18)} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
  return faultCount === 0 ? 0 : 1
}
