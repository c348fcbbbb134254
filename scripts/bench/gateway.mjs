// A real gateway in a child process with a data directory of its own, for the benches.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { NODE_FLAGS } from '../node-flags.mjs'
import { statusMb } from '../proc.mjs'

const PROGRAM = path.resolve('dist/fieldgate.cjs')
/** A bench measures the work, not the allowance. */
export const UNLIMITED = {
  FIELDGATE_LIMITS__CALLS_PER_MINUTE_PER_KEY: '1000000000',
  FIELDGATE_LIMITS__CALLS_PER_MINUTE_PER_ADDRESS: '1000000000',
  FIELDGATE_LIMITS__ANONYMOUS_PER_MINUTE: '1000000000',
  FIELDGATE_SESSION__MAX_PER_KEY: '1000000',
}

/**
 * @param options `isLimited`: true for the allowances and the flags of an installation; `wrap`: words before the command
 * @returns { port, url, dataDir, pid, isRunning(), headers, metrics(), rssMb(), peakRssMb(), stop() }; `headers` carry an
 *   admin key
 */
export async function startGateway({
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-')),
  env = {},
  args = [],
  program = PROGRAM,
  isLimited = false,
  wrap = [],
  onLog,
} = {}) {
  const made = JSON.parse(
    execFileSync(process.execPath, [program, 'init', '--data-dir', dataDir, '--json'], { encoding: 'utf8' }),
  )
  const key =
    made.secret === null
      ? JSON.parse(
          execFileSync(
            process.execPath,
            [
              program,
              'key',
              'create',
              '--data-dir',
              dataDir,
              '--name',
              'bench',
              '--scope',
              'admin',
              '--json',
            ],
            { encoding: 'utf8' },
          ),
        )
      : made
  const serve = [program, 'serve', '--data-dir', dataDir, '--port', '0', '--json', ...args]
  const flags = isLimited ? NODE_FLAGS : []
  const [command, ...words] = [...wrap, process.execPath, ...flags, ...serve]
  const child = spawn(command, words, {
    stdio: ['ignore', 'pipe', onLog === undefined ? 'inherit' : 'pipe'],
    env: { ...process.env, FIELDGATE_LOG__LEVEL: 'warn', ...(isLimited ? {} : UNLIMITED), ...env },
  })
  const isRunning = () => child.exitCode === null && child.signalCode === null
  if (onLog !== undefined) createInterface(child.stderr).on('line', onLog)
  const ready = await readyOf(child)
  const url = new URL(ready.url)
  const headers = { APIKey: key.apiKey, Secret: key.secret, 'Content-Type': 'application/json' }
  return {
    port: Number(url.port),
    url: ready.url,
    dataDir,
    pid: child.pid,
    isRunning,
    headers,
    metrics: () => readMetrics(ready.url, headers),
    rssMb: () => statusMb(child.pid, 'VmRSS'),
    peakRssMb: () => statusMb(child.pid, 'VmHWM'),
    async stop({ keep = false } = {}) {
      const wasRunning = isRunning()
      if (wasRunning) {
        child.kill('SIGTERM')
        await new Promise((resolve) => child.once('exit', resolve))
      }
      if (!keep) rmSync(dataDir, { recursive: true, force: true })
      if (!wasRunning)
        throw new Error(`the gateway had ended by itself (${child.signalCode ?? child.exitCode})`)
    },
  }
}

/** Reads the line that `serve --json` prints once it is ready. */
export function readyOf(child) {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
      if (text.includes('\n')) resolve(JSON.parse(text))
    })
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}`)))
  })
}

/** @returns { page, sum(name) }: the text of `/metrics`, and the sum over all labels of a name */
async function readMetrics(url, headers) {
  const page = await (await fetch(`${url}/metrics`, { headers })).text()
  const sum = (name) =>
    [...page.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    )
  return { page, sum }
}
