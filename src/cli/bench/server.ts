import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { createInterface } from 'node:readline'
import { isSea } from 'node:sea'
import type { CliDeps } from '../io.js'

/** A gateway of the bench, in a process of its own. */
export interface BenchServer {
  readonly startMs: number
  /** calls a method. @returns its result @throws Error for a refusal */
  call(path: string, method: string, params: unknown): Promise<unknown>
  /** sends a body. @returns the status, once the whole answer was read */
  post(path: string, body: string): Promise<number>
  /** processor time of all its threads so far, ms; undefined where /proc does not tell */
  cpuMs(): number | undefined
  /** memory, MB; undefined where /proc does not tell */
  memory(): { rssMb: number; anonymousMb: number } | undefined
  stop(): Promise<void>
}

/** Calls per minute that are no limit here. */
const UNLIMITED = '1000000000'
/** Ticks of the processor time in /proc, as Linux gives it to programs on every architecture. */
const MS_PER_TICK = 10
/** Settings of the package's unit for memory: the figures are those of an installation. */
const UNIT_ENV = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '131072', UV_THREADPOOL_SIZE: '2' }
/** The single executable has this flag itself. */
const NODE_FLAGS = ['--max-semi-space-size=1']
/** Names of the environment that a process needs beside the settings of this bench. */
const KEPT = /^(PATH|HOME|TMPDIR|LANG|LC_.*|MALLOC_.*|UV_.*|LD_LIBRARY_PATH|SystemRoot|TEMP)$/

/**
 * Starts this program with a data directory of its own, on a free port of this machine alone. Its settings are
 * the defaults, whatever the environment and the settings file of the caller say.
 *
 * @param args further arguments of `serve`
 */
export async function startServer(
  deps: CliDeps,
  dir: string,
  key: { apiKey: string; secret: string },
  args: readonly string[] = [],
): Promise<BenchServer> {
  const startedMs = performance.now()
  const serve = ['serve', '--data-dir', 'data', '--port', '0', '--json', ...args]
  const kept = Object.entries(deps.env).filter(([name]) => KEPT.test(name))
  const child = spawn(process.execPath, [...(isSea() ? [] : [...NODE_FLAGS, deps.entryFile]), ...serve], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...UNIT_ENV,
      ...Object.fromEntries(kept),
      FIELDGATE_LOG__LEVEL: 'error',
      FIELDGATE_LIMITS__CALLS_PER_MINUTE_PER_KEY: UNLIMITED,
      FIELDGATE_LIMITS__CALLS_PER_MINUTE_PER_ADDRESS: UNLIMITED,
    },
  })
  const stop = () => end(child)
  const { url } = await readyOf(child).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  const agent = new http.Agent({ keepAlive: true })
  const headers = { APIKey: key.apiKey, Secret: key.secret, 'Content-Type': 'application/json' }
  const send = (path: string, body: string) => request(url + path, { agent, headers, body })
  const call = async (path: string, method: string, params: unknown) => {
    const { text } = await send(path, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } }
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
  await call('/api/v1/session/jsonrpc', 'session.verify_session_token', { token: 'none' }).catch(
    async (error: unknown) => {
      await stop()
      throw error
    },
  )
  return {
    startMs: performance.now() - startedMs,
    call,
    post: async (path, body) => (await send(path, body)).status,
    cpuMs: () => cpuMsOf(child.pid),
    memory: () => memoryOf(child.pid),
    async stop() {
      agent.destroy()
      await stop()
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Waits for the line that `serve --json` prints. @throws Error with the last words of a program that ended */
async function readyOf(child: ChildProcess): Promise<{ url: string }> {
  let told = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    told = (told + text).slice(-1000)
  })
  return await new Promise((resolve, reject) => {
    if (child.stdout !== null)
      createInterface(child.stdout).once('line', (line) => resolve(JSON.parse(line) as { url: string }))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the gateway of the bench ended with ${code}: ${told}`)))
  })
}

function request(
  url: string,
  { agent, headers, body }: { agent: http.Agent; headers: Record<string, string>; body: string },
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = http.request(url, { agent, method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      )
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function cpuMsOf(pid: number | undefined): number | undefined {
  const stat = readProc(`/proc/${pid}/stat`)
  // the name of the program, in brackets, may hold spaces
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields && (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
}

function memoryOf(pid: number | undefined): ReturnType<BenchServer['memory']> {
  const status = readProc(`/proc/${pid}/status`)
  const mb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status ?? '')?.[1]) / 1000
  return status === undefined ? undefined : { rssMb: mb('VmRSS'), anonymousMb: mb('RssAnon') }
}

function readProc(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined // not Linux
  }
}
