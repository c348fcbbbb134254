import net from 'node:net'
import type { Test } from 'tap'

/** A connection as bytes, for what no HTTP client would do. */
export interface RawSocket {
  /** all that came back so far */
  readonly received: string
  readonly isClosed: boolean
  send(text: string | Uint8Array): void
  /** until something came back, or the other side closed */
  until(text: RegExp, limitMs?: number): Promise<string>
  /** until the other side closed */
  closed(limitMs?: number): Promise<string>
  /** stops reading what comes back */
  pause(): void
  destroy(): void
}

/** Time enough on a busy machine; what is waited for comes long before. */
const LIMIT_MS = 60_000

export async function openRaw(url: string): Promise<RawSocket> {
  const { port, hostname } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  const state = { received: '', isClosed: false }
  const watchers = new Set<() => void>()
  const changed = () => {
    for (const look of watchers) look()
  }
  socket.on('data', (chunk) => {
    state.received += chunk.toString('latin1')
    changed()
  })
  socket.on('error', () => undefined) // a cut connection is what most tests ask for
  socket.on('close', () => {
    state.isClosed = true
    changed()
  })
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve))
  const wait = (isSo: () => boolean, limitMs: number) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (!isSo()) return
        clearTimeout(timer)
        watchers.delete(look)
        resolve(state.received)
      }
      const timer = setTimeout(() => reject(new Error(`nothing came after: ${state.received}`)), limitMs)
      watchers.add(look)
      look()
    })
  return {
    get received() {
      return state.received
    },
    get isClosed() {
      return state.isClosed
    },
    send: (text) => void (socket.writable && socket.write(text)),
    until: (text, limitMs = LIMIT_MS) => wait(() => text.test(state.received) || state.isClosed, limitMs),
    closed: (limitMs = LIMIT_MS) => wait(() => state.isClosed, limitMs),
    pause: () => void socket.pause(),
    destroy: () => socket.destroy(),
  }
}

/**
 * Goes on sending a text, each time after the reads of its turn of the event loop: after a long pause of the
 * machine, a write to a connection that was cut would lose the answer that waits to be read.
 */
export function drip(t: Test, raw: RawSocket, text: string, everyMs: number): void {
  const timer = setInterval(() => setImmediate(() => raw.send(text)), everyMs)
  t.teardown(() => clearInterval(timer))
}

/** Head of a POST with JSON, ending before the body. */
export function postHead(path: string, headers: Record<string, string>, length: number | string): string {
  const all = { Host: 'x', 'Content-Type': 'application/json', ...headers, 'Content-Length': String(length) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
