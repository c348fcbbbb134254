import { type ProtocolVersion, type Qos, TYPE } from './packets.js'

/** Facts of a connection that its first packet carries. */
export interface ConnectFacts {
  readonly version: ProtocolVersion
  readonly clientId: string
  readonly keepAliveS: number
  readonly username?: string | undefined
  readonly password?: Buffer | undefined
}

/** A topic filter with what is wanted of it. */
export interface Subscription {
  readonly filter: string
  readonly qos: Qos
  /** true: messages that the broker has retained are wanted, too */
  readonly isRetainedWanted: boolean
}

/** A message to send. */
export interface Outgoing {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1
  readonly isRetained: boolean
}

/** Property "session expiry interval", with the value "never". */
const NEVER_EXPIRES = Buffer.from([0x11, 0xff, 0xff, 0xff, 0xff])
const NO_PROPERTIES = Buffer.from([0])
const NOTHING = Buffer.alloc(0)

/**
 * Encodes a CONNECT that takes up the session of the client id, and keeps it when the connection ends. It names no
 * receive maximum: brokers exceed it, and would then be disconnected.
 */
export function encodeConnect({ version, clientId, keepAliveS, username, password }: ConnectFacts): Buffer {
  const flags = (username === undefined ? 0 : 0x80) | (password === undefined ? 0 : 0x40)
  const properties = version === 5 ? [Buffer.from([NEVER_EXPIRES.length]), NEVER_EXPIRES] : []
  return packet(TYPE.connect << 4, [
    text('MQTT'),
    Buffer.from([version, flags, keepAliveS >> 8, keepAliveS & 0xff]),
    ...properties,
    text(clientId),
    ...(username === undefined ? [] : [text(username)]),
    ...(password === undefined ? [] : [uint16(password.length), password]),
  ])
}

/**
 * Encodes a SUBSCRIBE. MQTT 5: messages of the client itself do not come back, and retained ones only for a
 * subscription that is new to the session.
 */
export function encodeSubscribe(
  version: ProtocolVersion,
  packetId: number,
  wanted: readonly Subscription[],
): Buffer {
  const filters = wanted.flatMap(({ filter, qos, isRetainedWanted }) => {
    // a shared subscription with "no local" is an error of the protocol
    const noLocal = filter.startsWith('$share/') ? 0 : 0x04
    const options = version === 5 ? qos | noLocal | (isRetainedWanted ? 0x10 : 0x20) : qos
    return [text(filter), Buffer.from([options])]
  })
  return packet((TYPE.subscribe << 4) | 2, [uint16(packetId), noProperties(version), ...filters])
}

/** Encodes an UNSUBSCRIBE. */
export function encodeUnsubscribe(
  version: ProtocolVersion,
  packetId: number,
  filters: readonly string[],
): Buffer {
  return packet((TYPE.unsubscribe << 4) | 2, [
    uint16(packetId),
    noProperties(version),
    ...filters.map((filter) => text(filter)),
  ])
}

/** Encodes a PUBLISH. @param packetId 0 for QoS 0 */
export function encodePublish(version: ProtocolVersion, packetId: number, message: Outgoing): Buffer {
  const { topic, payload, qos, isRetained } = message
  const id = qos === 0 ? NOTHING : uint16(packetId)
  const flags = (qos << 1) | (isRetained ? 1 : 0)
  return packet((TYPE.publish << 4) | flags, [text(topic), id, noProperties(version), payload])
}

/** An acknowledgement without a refusal. */
interface Ack {
  readonly type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp'
  readonly packetId: number
}

const ACK_BYTES = 4

/** Encodes acknowledgements, one after another; the same bytes in both versions. */
export function encodeAcks(acks: readonly Ack[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(ACK_BYTES * acks.length)
  for (const [at, { type, packetId }] of acks.entries()) {
    bytes[ACK_BYTES * at] = (TYPE[type] << 4) | (type === 'pubrel' ? 2 : 0)
    bytes[ACK_BYTES * at + 1] = 2
    bytes.writeUInt16BE(packetId, ACK_BYTES * at + 2)
  }
  return bytes
}

/** Encodes a PINGREQ. */
export function encodePing(): Buffer {
  return Buffer.from([TYPE.pingreq << 4, 0])
}

/** Encodes a DISCONNECT; the broker keeps the session. */
export function encodeDisconnect(): Buffer {
  return Buffer.from([TYPE.disconnect << 4, 0])
}

function noProperties(version: ProtocolVersion): Buffer {
  return version === 5 ? NO_PROPERTIES : NOTHING
}

function packet(head: number, parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([Buffer.from([head, ...lengthBytes(length)]), ...parts])
}

/** @param length below 2^28 */
function lengthBytes(length: number): number[] {
  const bytes: number[] = []
  let rest = length
  do {
    const low = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? low | 0x80 : low)
  } while (rest > 0)
  return bytes
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff])
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8')
  return Buffer.concat([uint16(bytes.length), bytes])
}
