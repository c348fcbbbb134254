import { type ChildProcess, spawn } from 'node:child_process'
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../errors.js'

/** How an executable is run: as whom, with which environment, and when to stop waiting for it. */
export interface RunOptions {
  env: Record<string, string | undefined>
  /** the owner of the data: files of root among them would stop the gateway */
  owner: { uid: number; gid: number } | undefined
  signal: AbortSignal
}

export interface Ended {
  /** null when it was ended by a signal or did not start */
  code: number | null
  stdout: string
  /** last words, one line */
  reason: string
}

const VERB_LIMIT_MS = 60_000
const MAX_TEXT = 100_000
const ASK_EVERY_MS = 200
/** One answer may take this long; a gateway that is just starting may be slow. */
const ANSWER_LIMIT_MS = 5000

/** Runs a program to its end, which is made to come after a minute. */
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
 * Serves with an executable until it is ready, then lets it end.
 *
 * @returns undefined when it was ready in time and ended well, else why not
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
 * Asks a gateway until it is ready.
 *
 * @param version that it must have, undefined when it is known to be the right one
 * @returns undefined when it was ready before `limit`, else the last reason
 */
export async function waitReady(
  url: string,
  version: string | undefined,
  limit: AbortSignal,
): Promise<string | undefined> {
  let fault = 'nothing answered'
  while (!limit.aborted) {
    try {
      const ready = await get(`${url}/readyz`, limit)
      const served =
        version === undefined ? undefined : JSON.parse((await get(`${url}/openrpc.json`, limit)).body)
      if (ready.status === 200 && served?.info.version === version) return undefined
      fault =
        ready.status === 200
          ? `version ${served?.info.version} answers`
          : `it is not ready: ${ready.body.slice(0, 300)}`
    } catch (error) {
      if (!limit.aborted) fault = messageOf(error)
    }
    await sleep(ASK_EVERY_MS, undefined, { signal: limit }).catch(() => undefined) // the loop ends by itself
  }
  return fault
}

function start(file: string, argv: readonly string[], { env, owner }: RunOptions): ChildProcess {
  // what was unpacked for this program is not for another one
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
    const reason = () => lastWords(stderr)
    child.once('error', (error) => resolve({ code: null, stdout, reason: messageOf(error) }))
    child.once('close', (code) => resolve({ code, stdout, reason: reason() }))
  })
}

/** The last line that says something: Node's own report of a crash ends with a stack and its version. */
function lastWords(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !/^(\s+at |Node\.js v)/.test(line))
  return lines.at(-1)?.trim().slice(0, 300) ?? ''
}

function whyEnded({ code, reason }: Ended): string {
  return `it ended with ${code ?? 'a signal'} before it was ready: ${reason}`
}

/** The URL of the line that `serve --json` prints when it can answer, or what was wrong. */
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

/** The machine's own gateway: whatever name its certificate has, this is who is asked. */
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
