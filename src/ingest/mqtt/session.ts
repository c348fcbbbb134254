import type { Socket } from 'node:net'
import { type Connection, openConnection } from './connection.js'
import { encodeAcks, encodeConnect } from './encode.js'
import { createOutbound, type Outbound } from './outbound.js'
import { type Connack, type Packet, type Publish, reasonText } from './packets.js'
import { createSubscriber, type Subscriber, type SubscriberDeps } from './subscriber.js'
import type { Timers } from './timers.js'

/** User and password, which files may hold that are renewed. */
export interface Credentials {
  readonly username?: string | undefined
  readonly password?: Buffer | undefined
}

export interface SessionOptions extends SubscriberDeps {
  readonly clientId: string
  readonly keepAliveS: number
  readonly connectTimeoutMs: number
  /** largest message that is held in memory, bytes */
  readonly maxPacketBytes: number
  readonly timers: Timers
}

interface SessionEvents {
  onAccepted(session: Session, isSessionPresent: boolean): void
  onMessage(message: Publish): void
  /** called once */
  onEnd(reason: string): void
}

/** A connection to a broker, and what goes over it. */
export interface Session {
  readonly connection: Connection
  readonly outbound: Outbound
  readonly subscriber: Subscriber
  /** true once the broker has accepted the connection */
  isAccepted(): boolean
}

/** Opens the session of a client over a socket that connects. */
export function openSession(
  socket: Socket,
  credentials: Credentials,
  options: SessionOptions,
  events: SessionEvents,
): Session {
  const { version, clientId, keepAliveS, timers } = options
  let isAccepted = false
  const connection = openConnection({
    ...{ socket, version, timers },
    maxPacketBytes: options.maxPacketBytes,
    connectTimeoutMs: options.connectTimeoutMs,
    onOpen: () => connection.send(encodeConnect({ version, clientId, keepAliveS, ...credentials })),
    onPacket: (packet) => take(packet),
    onEnd(reason) {
      outbound.end(reason)
      events.onEnd(reason)
    },
  })
  const send = (bytes: Uint8Array, onSent?: () => void) => connection.send(bytes, onSent)
  const outbound = createOutbound(version, send)
  const subscriber = createSubscriber(options, { send, nextPacketId: outbound.nextPacketId })
  const session: Session = { connection, outbound, subscriber, isAccepted: () => isAccepted }
  const accept = ({ reason, isSessionPresent, limits }: Connack) => {
    if (reason !== 0) return connection.end(`the broker refuses the connection: ${reasonText(reason)}`)
    isAccepted = true
    outbound.open(limits)
    connection.keepAlive(limits.keepAliveS ?? keepAliveS)
    events.onAccepted(session, isSessionPresent)
    subscriber.begin(isSessionPresent)
  }
  const take = (packet: Packet) => {
    if (packet.type === 'connack') return accept(packet)
    if (!isAccepted)
      return connection.end(`found a ${packet.type} before the broker has accepted the connection`)
    switch (packet.type) {
      case 'publish':
        return events.onMessage(packet)
      case 'pubrel':
        return send(encodeAcks([{ type: 'pubcomp', packetId: packet.packetId }]))
      case 'puback':
        return outbound.acknowledged(packet)
      case 'suback':
      case 'unsuback':
        return subscriber.answered(packet)
      case 'disconnect':
        return connection.end(`the broker ended the connection: ${reasonText(packet.reason)}`)
    }
  }
  return session
}
