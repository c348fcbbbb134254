import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { decodePacket } from './decode.js'
import { encodePing } from './encode.js'
import { createFramer } from './framer.js'
import type { Packet, ProtocolVersion } from './packets.js'
import type { Timers } from './timers.js'

/** A socket with the packets of a broker. */
export interface Connection {
  /** Sends bytes. @param onSent called when the system has taken them; not called where the socket fails */
  send(bytes: Uint8Array, onSent?: () => void): void
  /** Begins to send pings. @param keepAliveS 0 for none */
  keepAlive(keepAliveS: number): void
  /** Stops reading: the broker has to wait, and so do packets that are here but not decoded. */
  pause(): void
  resume(): void
  /** Ends the connection: a reason is told to `onEnd`. @param farewell bytes that are sent before */
  end(reason: string, farewell?: Uint8Array): void
}

interface ConnectionOptions {
  /** a socket that connects */
  readonly socket: Socket
  readonly version: ProtocolVersion
  /** largest body of a packet that is held in memory */
  readonly maxPacketBytes: number
  /** time until the broker must have accepted the connection, ms */
  readonly connectTimeoutMs: number
  readonly timers: Timers
  /** called when bytes can be sent */
  onOpen(): void
  onPacket(packet: Packet): void
  /** called once; nothing else is called after it */
  onEnd(reason: string): void
}

/** Share of the keep-alive time after which a ping is sent. */
const PING_SHARE = 0.5
/** Time for a farewell to leave, ms. */
const FAREWELL_MS = 1000
const NOTHING = Buffer.alloc(0)

/** Opens a connection over a socket. A broker that is silent for the keep-alive time has gone. */
export function openConnection(options: ConnectionOptions): Connection {
  const { socket, version, timers, connectTimeoutMs } = options
  const framer = createFramer(options.maxPacketBytes)
  let isEnded = false
  let isPaused = false
  let isSilent = false
  let pinging: unknown
  const end = (reason: string, farewell?: Uint8Array) => {
    if (isEnded) return
    isEnded = true
    timers.clear(connecting)
    timers.clear(pinging)
    if (farewell === undefined) socket.destroy()
    else {
      socket.end(farewell)
      socket.resume() // reads the end of the other side
      const leaving = timers.set(() => socket.destroy(), FAREWELL_MS)
      socket.once('close', () => timers.clear(leaving))
    }
    options.onEnd(reason)
  }
  const connecting = timers.set(
    () => end(`the broker has not accepted the connection within ${connectTimeoutMs} ms`),
    connectTimeoutMs,
  )
  const receive = (chunk: Buffer) => {
    isSilent = false
    if (isEnded) return
    try {
      framer.push(
        chunk,
        (frame) => options.onPacket(decodePacket(frame, version)),
        () => !isEnded && !isPaused,
      )
    } catch (error) {
      end(`the broker breaks the protocol: ${(error as Error).message}`) // framer and decoder throw errors
    }
  }
  const ping = (everyMs: number) => {
    pinging = timers.set(() => {
      // a paused socket hears no answer
      if (isSilent && !isPaused) return end(`the broker has not answered a ping within ${everyMs / 1000} s`)
      isSilent = true
      socket.write(encodePing())
      ping(everyMs)
    }, everyMs)
  }
  socket.setNoDelay(true)
  socket.on(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => {
    if (!isEnded) options.onOpen()
  })
  socket.on('data', receive)
  socket.on('error', (error) => end(socketFault(error)))
  socket.on('close', () => end('the broker closed the connection'))
  return {
    send(bytes, onSent) {
      if (isEnded) return
      socket.write(bytes, (error) => {
        if (!error) onSent?.()
      })
    },
    keepAlive(keepAliveS) {
      timers.clear(connecting)
      if (keepAliveS > 0) ping(keepAliveS * 1000 * PING_SHARE)
    },
    pause() {
      isPaused = true
      socket.pause()
    },
    resume() {
      isPaused = false
      receive(NOTHING)
      if (!isPaused) socket.resume()
    },
    end,
  }
}

/** Says why a socket failed, with the code of the system or of TLS. */
function socketFault(error: Error): string {
  const { code, reason } = error as NodeJS.ErrnoException & { reason?: string } // errors of OpenSSL have a reason
  if (reason !== undefined) return `TLS: ${reason}`
  if (code === undefined || error.message.includes(code)) return error.message
  return `${error.message} (${code})`
}
