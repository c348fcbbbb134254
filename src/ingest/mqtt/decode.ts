import {
  type BrokerLimits,
  connectReason,
  type Packet,
  type ProtocolVersion,
  type Publish,
  type Qos,
  TYPE,
} from './packets.js'

/** A frame of the stream: the fixed header, and what follows it. */
export interface Frame {
  /** first byte: type and flags */
  readonly head: number
  /** valid while the frame is handled */
  readonly body: Buffer
  /** bytes of the whole body; more than `body.length` where the rest was dropped */
  readonly bodyBytes: number
}

/** Position in the body of a packet. */
interface Cursor {
  readonly body: Buffer
  at: number
}

/**
 * Decodes a packet of a broker.
 *
 * @throws Error that says what breaks the protocol
 */
export function decodePacket(frame: Frame, version: ProtocolVersion): Packet {
  const { head, body } = frame
  const cursor = { body, at: 0 }
  const type = head >> 4
  switch (type) {
    case TYPE.publish:
      return decodePublish(frame, version)
    case TYPE.puback:
    case TYPE.pubrec:
    case TYPE.pubrel:
    case TYPE.pubcomp:
      return { type: ACKS[type], packetId: uint16(cursor), reason: body.length > 2 ? uint8(cursor) : 0 }
    case TYPE.connack:
      return decodeConnack(cursor, version)
    case TYPE.suback:
    case TYPE.unsuback: {
      const packetId = uint16(cursor)
      if (version === 5) properties(cursor)
      const reasons = [...body.subarray(cursor.at)]
      return { type: type === TYPE.suback ? 'suback' : 'unsuback', packetId, reasons }
    }
    case TYPE.pingresp:
      return { type: 'pingresp' }
    case TYPE.disconnect:
      return { type: 'disconnect', reason: body.length > 0 ? uint8(cursor) : 0 }
    default:
      throw new Error(`found a packet of type ${type}, expected one that a broker sends`)
  }
}

const ACKS = {
  [TYPE.puback]: 'puback',
  [TYPE.pubrec]: 'pubrec',
  [TYPE.pubrel]: 'pubrel',
  [TYPE.pubcomp]: 'pubcomp',
} as const

function decodePublish({ head, body, bodyBytes }: Frame, version: ProtocolVersion): Publish {
  const qos = (head >> 1) & 3
  if (qos === 3) throw new Error('found a message of QoS 3, expected 0, 1 or 2')
  const cursor = { body, at: 0 }
  const topic = text(cursor)
  if (topic === '') throw new Error('found a message without a topic, expected one: aliases were not offered')
  const packetId = qos === 0 ? 0 : uint16(cursor)
  if (qos > 0 && packetId === 0) throw new Error('found the packet id 0, expected 1 to 65535')
  const isCut = bodyBytes > body.length
  if (version === 5 && !skipProperties(cursor) && !isCut)
    throw new Error('found properties that end after their packet')
  return {
    type: 'publish',
    topic,
    payload: body.subarray(cursor.at),
    payloadBytes: bodyBytes - cursor.at,
    isCut,
    qos: qos as Qos, // 0 to 2, see above
    isRetained: (head & 1) === 1,
    isDuplicate: (head & 8) === 8,
    packetId,
  }
}

/** Skips properties. @returns false when they end after the bytes that are there */
function skipProperties(cursor: Cursor): boolean {
  const length = varint(cursor)
  const end = cursor.at + length
  cursor.at = Math.min(end, cursor.body.length)
  return end <= cursor.body.length
}

function decodeConnack(cursor: Cursor, version: ProtocolVersion): Packet {
  const isSessionPresent = (uint8(cursor) & 1) === 1
  const reason = connectReason(uint8(cursor))
  const found = version === 5 && cursor.at < cursor.body.length ? properties(cursor) : new Map()
  const limits: BrokerLimits = {
    receiveMaximum: found.get(0x21) ?? 65_535,
    maximumQos: (found.get(0x24) ?? 2) as Qos, // the property has 0 or 1
    maximumPacketBytes: found.get(0x27) ?? Number.POSITIVE_INFINITY,
    keepAliveS: found.get(0x13),
    sessionExpiryS: found.get(0x11),
  }
  return { type: 'connack', isSessionPresent, reason, limits }
}

/** Forms of properties: bytes of a number; `t` text or bytes with their length, `p` two texts, `v` a varint. */
const FORMS: Readonly<Record<number, 1 | 2 | 4 | 't' | 'p' | 'v'>> = {
  ...{ 1: 1, 2: 4, 3: 't', 8: 't', 9: 't', 11: 'v', 17: 4, 18: 't', 19: 2, 21: 't', 22: 't', 23: 1, 24: 4 },
  ...{ 25: 1, 26: 't', 28: 't', 31: 't', 33: 2, 34: 2, 35: 2, 36: 1, 37: 1, 38: 'p', 39: 4, 40: 1, 41: 1 },
  42: 1,
}

/** Reads properties. @returns those that are numbers, by their id */
function properties(cursor: Cursor): Map<number, number> {
  const length = varint(cursor)
  const end = cursor.at + length
  const found = new Map<number, number>()
  while (cursor.at < end) {
    const id = varint(cursor)
    const form = FORMS[id]
    if (form === undefined) throw new Error(`found the unknown property ${id}`)
    if (form === 't' || form === 'p') {
      skipText(cursor)
      if (form === 'p') skipText(cursor)
    } else if (form === 'v') found.set(id, varint(cursor))
    else found.set(id, uint(cursor, form))
  }
  if (cursor.at !== end) throw new Error('found properties that end within a value')
  return found
}

function skipText(cursor: Cursor): void {
  const length = uint16(cursor)
  cursor.at += length
}

function uint8(cursor: Cursor): number {
  return uint(cursor, 1)
}

function uint16(cursor: Cursor): number {
  return uint(cursor, 2)
}

/** @throws Error when the packet ends before */
function uint(cursor: Cursor, bytes: 1 | 2 | 4): number {
  if (cursor.at + bytes > cursor.body.length) throw new Error('found a packet that ends within a value')
  const value = cursor.body.readUIntBE(cursor.at, bytes)
  cursor.at += bytes
  return value
}

function varint(cursor: Cursor): number {
  let value = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = uint8(cursor)
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return value
  }
  throw new Error('found a variable length of more than 4 bytes')
}

function text(cursor: Cursor): string {
  const length = uint16(cursor)
  const end = cursor.at + length
  if (end > cursor.body.length) throw new Error('found a packet that ends within a text')
  const value = cursor.body.toString('utf8', cursor.at, end)
  cursor.at = end
  return value
}
