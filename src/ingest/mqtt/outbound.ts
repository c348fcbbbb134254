import { encodePublish, type Outgoing } from './encode.js'
import { type Acknowledgement, type BrokerLimits, type ProtocolVersion, reasonText } from './packets.js'

/** Messages on their way to a broker, over one connection. */
export interface Outbound {
  /** Takes the limits of the broker over. */
  open(limits: BrokerLimits): void
  /**
   * Sends a message, after those before it.
   *
   * @returns when the broker has taken it, with QoS 0 when it was sent
   * @throws Error for a refusal, and when the connection ends before
   */
  publish(message: Outgoing): Promise<void>
  acknowledged(packet: Acknowledgement): void
  /** Returns a packet id that is not in use. */
  nextPacketId(): number
  /** Fails all messages that are on their way. */
  end(reason: string): void
}

/** Most messages that are not acknowledged, whatever the broker allows. */
const MAX_IN_FLIGHT = 64
const MAX_PACKET_ID = 65_535

interface Waiting {
  readonly message: Outgoing
  resolve(): void
  reject(error: Error): void
}

/** Creates the outbound of a connection. */
export function createOutbound(
  version: ProtocolVersion,
  send: (bytes: Uint8Array, onSent?: () => void) => void,
): Outbound {
  const queue: Waiting[] = []
  const inFlight = new Map<number, Waiting>()
  /** messages of QoS 0 that the system has not taken */
  const leaving = new Set<Waiting>()
  let limits: BrokerLimits | undefined
  let lastId = 0
  const nextPacketId = () => {
    do lastId = (lastId % MAX_PACKET_ID) + 1
    while (inFlight.has(lastId))
    return lastId
  }
  const sendOne = (waiting: Waiting, { maximumQos, maximumPacketBytes }: BrokerLimits) => {
    const qos = maximumQos === 0 ? 0 : waiting.message.qos
    const packetId = qos === 0 ? 0 : nextPacketId()
    const bytes = encodePublish(version, packetId, { ...waiting.message, qos })
    if (bytes.length > maximumPacketBytes)
      return waiting.reject(
        new Error(`the message has ${bytes.length} bytes, the broker takes ${maximumPacketBytes}`),
      )
    if (qos === 1) {
      inFlight.set(packetId, waiting)
      send(bytes)
      return
    }
    leaving.add(waiting)
    send(bytes, () => {
      leaving.delete(waiting)
      waiting.resolve()
    })
  }
  const sendMore = () => {
    if (limits === undefined) return
    const window = Math.min(MAX_IN_FLIGHT, limits.receiveMaximum)
    while (inFlight.size < window) {
      const waiting = queue.shift()
      if (waiting === undefined) return
      sendOne(waiting, limits)
    }
  }
  return {
    nextPacketId,
    open(found) {
      limits = found
      sendMore()
    },
    publish: (message) =>
      new Promise((resolve, reject) => {
        queue.push({ message, resolve, reject })
        sendMore()
      }),
    acknowledged({ packetId, reason }) {
      const waiting = inFlight.get(packetId)
      if (waiting === undefined) return // of a message that this connection did not send
      inFlight.delete(packetId)
      if (reason < 128) waiting.resolve()
      else waiting.reject(new Error(`the broker refuses the message: ${reasonText(reason)}`))
      sendMore()
    },
    end(reason) {
      for (const { reject } of [...inFlight.values(), ...leaving, ...queue.splice(0)])
        reject(new Error(reason))
      inFlight.clear()
      leaving.clear()
    },
  }
}
