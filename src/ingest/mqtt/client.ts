import type { Socket } from 'node:net'
import { messageOf } from '../../errors.js'
import { backoffMs } from '../../sync/backoff.js'
import { encodeAcks, encodeDisconnect, type Outgoing } from './encode.js'
import type { Publish } from './packets.js'
import { type Credentials, openSession, type Session, type SessionOptions } from './session.js'

/** A message, with the connection that brought it. */
export interface Received extends Publish {
  /** number of the connection; an acknowledgement on another one is not sent: the broker repeats the message */
  readonly connection: number
}

export interface ClientOptions extends SessionOptions {
  /** waits between attempts, with full jitter */
  readonly retry: { readonly baseMs: number; readonly capMs: number }
  random(): number
  /** Reads them for each attempt. @throws Error that names the file */
  credentials(): Promise<Credentials>
  /** Returns a socket that connects. @throws Error that names the file that cannot be used */
  openSocket(): Promise<Socket>
  onMessage(message: Received): void
  /** called after each change of `state` */
  onState(): void
}

/** State of a client's connection. */
export interface ClientState {
  readonly isConnected: boolean
  /** why it is not, or was last not, connected; null before the first failure */
  readonly lastError: string | null
  /** times that it connected again */
  readonly reconnects: number
  /** times that the broker had no session of a client that had one: messages may be missing */
  readonly lostSessions: number
}

/** Client of one broker. It connects until it is stopped. */
export interface MqttClient {
  start(): void
  /** Acknowledges messages; PUBREC for those of QoS 2. Messages of an earlier connection are passed over. */
  acknowledge(messages: readonly Received[]): void
  /** True while the connection that brought a message is open. */
  isOpen(message: Received): boolean
  /**
   * Sends a message.
   *
   * @returns when the broker has taken it, with QoS 0 when it was sent
   * @throws Error when it is not connected, or the connection ends before
   */
  publish(message: Outgoing): Promise<void>
  /** Subscribes to what is wanted now, and ends other subscriptions. */
  refresh(): void
  /** Stops reading from the broker. */
  pause(): void
  resume(): void
  state(): ClientState
  /** number of filters that the broker has granted */
  granted(): number
  /** refusals of the broker, by filter */
  refusals(): ReadonlyMap<string, string>
  stop(): Promise<void>
}

/** Counters of a client, and why it was last not connected. */
interface Facts {
  accepted: number
  lostSessions: number
  lastError: string | null
}

/** Creates a client that is not started. */
export function createMqttClient(options: ClientOptions): MqttClient {
  const facts: Facts = { accepted: 0, lostSessions: 0, lastError: null }
  let isPaused = false
  const link = createLink(options, facts, (session) => {
    if (isPaused) session.connection.pause()
  })
  const open = () => {
    const session = link.session()
    return session?.isAccepted() === true ? session : undefined
  }
  return {
    start: link.start,
    acknowledge(messages) {
      const acks = messages
        .filter(({ qos, connection }) => qos > 0 && connection === link.number())
        .map(({ qos, packetId }) => ({ type: qos === 1 ? 'puback' : 'pubrec', packetId }) as const)
      if (acks.length > 0) link.session()?.connection.send(encodeAcks(acks))
    },
    isOpen: ({ connection }) => link.session() !== undefined && connection === link.number(),
    async publish(message) {
      const session = open()
      if (session === undefined) throw new Error(facts.lastError ?? 'the broker is not connected')
      await session.outbound.publish(message)
    },
    refresh: () => open()?.subscriber.refresh(),
    pause() {
      isPaused = true
      open()?.connection.pause() // before, the answer to CONNECT is awaited
    },
    resume() {
      isPaused = false
      open()?.connection.resume()
    },
    state: () => ({
      isConnected: open() !== undefined,
      lastError: facts.lastError,
      reconnects: Math.max(0, facts.accepted - 1),
      lostSessions: facts.lostSessions,
    }),
    granted: () => open()?.subscriber.granted() ?? 0,
    refusals: () => open()?.subscriber.refusals() ?? new Map(),
    stop: link.stop,
  }
}

/** The sessions of a client, one after the other. */
interface Link {
  start(): void
  session(): Session | undefined
  /** number of the last session */
  number(): number
  stop(): Promise<void>
}

function createLink(options: ClientOptions, facts: Facts, onAccepted: (session: Session) => void): Link {
  const { timers } = options
  let session: Session | undefined
  let number = 0
  let failures = 0
  let isStopped = false
  let waiting: unknown
  let settleStop: (() => void) | undefined
  const retryLater = (reason: string) => {
    facts.lastError = reason
    session = undefined
    failures++
    settleStop?.()
    if (isStopped) return
    const ms = backoffMs(failures, options.retry.baseMs, options.retry.capMs, options.random())
    waiting = timers.set(() => void attempt(), ms)
    options.onState()
  }
  const attempt = async () => {
    try {
      const [socket, credentials] = [await options.openSocket(), await options.credentials()]
      if (isStopped) return void socket.destroy()
      const connection = ++number
      session = openSession(socket, credentials, options, {
        onAccepted(opened, isSessionPresent) {
          facts.accepted++
          failures = 0
          if (!isSessionPresent && options.kept.read().length > 0) facts.lostSessions++
          onAccepted(opened)
          options.onState()
        },
        onMessage: (message) => options.onMessage({ ...message, connection }),
        onEnd: retryLater,
      })
    } catch (error) {
      retryLater(messageOf(error))
    }
  }
  return {
    start: () => void attempt(),
    session: () => session,
    number: () => number,
    async stop() {
      isStopped = true
      timers.clear(waiting)
      const open = session
      if (open === undefined) return
      await new Promise<void>((resolve) => {
        settleStop = resolve
        open.connection.end('stopped', open.isAccepted() ? encodeDisconnect() : undefined)
      })
    },
  }
}
