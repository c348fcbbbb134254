import { type ChildProcess, spawn } from 'node:child_process'
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../errors.js'

/** Environment of an executable that is run. */
export interface RunOptions {
  env: Record<string, string | undefined>
  /**
   * owner of the data directory: files of root in it would stop the gateway. Undefined for the current user
   */
  owner: { uid: number; gid: number } | undefined
  signal: AbortSignal
}

/** Result of a program that has ended. */
export interface Ended {
  /** null when a signal ended it, or when it did not start */
  code: number | null
  stdout: string
  /** last line of stderr, without stack traces */
  reason: string
}

const VERB_LIMIT_MS = 60_000
const MAX_TEXT = 100_000
/** Interval of requests while waiting. */
const ASK_EVERY_MS = 200
/** Time limit of one response; a gateway that is starting can be slow. */
const ANSWER_LIMIT_MS = 5000

/** Runs a program and waits until it ends. After a minute it is killed. */
export async function runToEnd(file: string, argv: readonly string[], options: RunOptions): Promise<Ended> {
  const child = start(file, argv, options)
  const ended = collect(child)
  const limit = setTimeout(() => child.kill('SIGKILL'), VERB_LIMIT_MS)
  try {
    return await ended
  } finally {
    clearTimeout(limit)
  }
}

/**
 * Starts a gateway with an executable, waits until it is ready, and stops it.
 *
 * @returns undefined when it was ready in time and ended with 0, otherwise the reason
 */
export async function tryServing(
  file: string,
  argv: readonly string[],
  limitMs: number,
  options: RunOptions,
): Promise<string | undefined> {
  const limit = AbortSignal.any([options.signal, AbortSignal.timeout(limitMs)])
  const child = start(file, ['serve', ...argv, '--port', '0', '--json'], options)
  const ended = collect(child)
  const killed = setTimeout(() => child.kill('SIGKILL'), limitMs + VERB_LIMIT_MS)
  try {
    const url = await Promise.race([readyUrl(child, limit), ended.then(whyEnded)])
    if (!url.startsWith('http')) return url
    const fault = await waitReady(url, undefined, limit)
    child.kill('SIGTERM')
    const { code, reason } = await ended
    return fault ?? (code === 0 ? undefined : `it ended with ${code ?? 'a signal'}: ${reason}`)
  } finally {
    clearTimeout(killed)
    child.kill('SIGKILL')
    await ended
  }
}

/**
 * Waits until a gateway is ready.
 *
 * @param version expected version; undefined accepts any
 * @returns undefined when it was ready before `limit`, otherwise the last reason
 */
export async function waitReady(
  url: string,
  version: string | undefined,
  limit: AbortSignal,
): Promise<string | undefined> {
  let fault = 'there was no response'
  while (!limit.aborted) {
    try {
      const ready = await get(`${url}/readyz`, limit)
      const served =
        version === undefined ? undefined : JSON.parse((await get(`${url}/openrpc.json`, limit)).body)
      if (ready.status === 200 && served?.info.version === version) return undefined
      fault =
        ready.status === 200
          ? `found version ${served?.info.version}, expected ${version}`
          : `it is not ready: ${ready.body.slice(0, 300)}`
    } catch (error) {
      if (!limit.aborted) fault = messageOf(error)
    }
    await sleep(ASK_EVERY_MS, undefined, { signal: limit }).catch(() => undefined) // aborted: the loop condition ends it
  }
  return fault
}

function start(file: string, argv: readonly string[], { env, owner }: RunOptions): ChildProcess {
  // the addon unpacked for this executable does not fit another version
  const { FIELDGATE_SQLITE_ADDON: _own, ...inherited } = env
  return spawn(file, argv, { env: inherited, stdio: ['ignore', 'pipe', 'pipe'], ...owner })
}

function collect(child: ChildProcess): Promise<Ended> {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk) => {
    if (stdout.length < MAX_TEXT) stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr = `${stderr}${chunk}`.slice(-MAX_TEXT)
  })
  return new Promise((resolve) => {
    const reason = () => lastLine(stderr)
    child.once('error', (error) => resolve({ code: null, stdout, reason: messageOf(error) }))
    child.once('close', (code) => resolve({ code, stdout, reason: reason() }))
  })
}

/** Last line of stderr that is neither a stack frame nor Node's version, which end its crash reports. */
function lastLine(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !/^(\s+at |Node\.js v)/.test(line))
  return lines.at(-1)?.trim().slice(0, 300) ?? ''
}

function whyEnded({ code, reason }: Ended): string {
  return `it ended with ${code ?? 'a signal'} before it was ready: ${reason}`
}

/** URL in the line that `serve --json` prints once it is ready; a reason when the time is over. */
function readyUrl(child: ChildProcess, limit: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    limit.addEventListener('abort', () => resolve('it was not ready in time'), { once: true })
    child.stdout?.on('data', (chunk) => {
      text = `${text}${chunk}`.slice(-MAX_TEXT)
      const url = /"event":"ready".*?"url":"([^"]+)"/.exec(text)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
}

/**
 * GET request to the gateway of this machine. Its certificate is not verified, because it is for another
 * name.
 */
function get(url: string, limit: AbortSignal): Promise<{ status: number; body: string }> {
  const signal = AbortSignal.any([limit, AbortSignal.timeout(ANSWER_LIMIT_MS)])
  const options = { signal, rejectUnauthorized: false, agent: false }
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? https.get(url, options) : http.get(url, options)
    request.once('error', reject)
    request.once('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        body += chunk
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.once('error', reject)
    })
  })
}
