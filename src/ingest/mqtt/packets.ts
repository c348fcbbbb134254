/** Versions of the protocol: 4 is MQTT 3.1.1. */
export type ProtocolVersion = 4 | 5

/** Quality of service: at most once, at least once, once. */
export type Qos = 0 | 1 | 2

/** Types of packets, by their number in the fixed header. */
export const TYPE = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
} as const

/** Answer of a broker to a connection. */
export interface Connack {
  readonly type: 'connack'
  readonly isSessionPresent: boolean
  /** 0 for an accepted connection */
  readonly reason: number
  readonly limits: BrokerLimits
}

/** Limits of a broker; the defaults of the protocol where it names none. */
export interface BrokerLimits {
  /** most publications of the client that are not acknowledged */
  readonly receiveMaximum: number
  readonly maximumQos: Qos
  /** largest packet that it takes, bytes; Infinity for no limit */
  readonly maximumPacketBytes: number
  /** keep-alive that replaces the client's, s; undefined where that holds */
  readonly keepAliveS: number | undefined
  /** time that it keeps the session of a client that is away, s; undefined where the client's holds */
  readonly sessionExpiryS: number | undefined
}

/** A message of a broker. */
export interface Publish {
  readonly type: 'publish'
  readonly topic: string
  /** valid while the packet is handled; the first bytes only where `isCut` */
  readonly payload: Buffer
  /** bytes of the whole payload */
  readonly payloadBytes: number
  /** true for a message above the limit, whose payload was dropped as it came */
  readonly isCut: boolean
  readonly qos: Qos
  readonly isRetained: boolean
  readonly isDuplicate: boolean
  /** 0 for a message of QoS 0 */
  readonly packetId: number
}

/** A step of the acknowledgement of a message. */
export interface Acknowledgement {
  readonly type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp'
  readonly packetId: number
  /** 128 and more for a refusal; always 0 in MQTT 3.1.1 */
  readonly reason: number
}

/** Answer to a subscription, or to its end. */
export interface SubscriptionAnswer {
  readonly type: 'suback' | 'unsuback'
  readonly packetId: number
  /** granted QoS of each filter, or 128 and more for a refusal */
  readonly reasons: readonly number[]
}

/** Farewell of a broker, MQTT 5 only. */
export interface Disconnect {
  readonly type: 'disconnect'
  readonly reason: number
}

/** A packet from a broker. */
export type Packet =
  | Connack
  | Publish
  | Acknowledgement
  | SubscriptionAnswer
  | Disconnect
  | { readonly type: 'pingresp' }

/** Reason codes of both versions that operators meet, in words. */
const REASONS: Readonly<Record<number, string>> = {
  128: 'unspecified error',
  129: 'malformed packet',
  130: 'protocol error',
  131: 'implementation error',
  132: 'the protocol version is not supported',
  133: 'the client id is not allowed',
  134: 'wrong user name or password',
  135: 'not authorised',
  136: 'the server is unavailable',
  137: 'the server is busy',
  138: 'banned',
  139: 'the server is shutting down',
  141: 'keep-alive timeout',
  142: 'another client has connected with the same client id',
  143: 'the topic filter is invalid',
  144: 'the topic name is invalid',
  145: 'the packet id is in use',
  147: 'more messages than the receive maximum',
  149: 'the packet is too large',
  151: 'a quota is exceeded',
  152: 'ended by an administrator',
  153: 'the payload format is invalid',
  154: 'retained messages are not supported',
  155: 'the QoS is not supported',
  156: 'use another server',
  157: 'the server has moved',
  159: 'too many connections',
  161: 'subscription ids are not supported',
  162: 'wildcards are not supported',
}

/** Refusals of a connection in MQTT 3.1.1 → those of MQTT 5. */
const REFUSALS_OF_4: Readonly<Record<number, number>> = { 1: 132, 2: 133, 3: 136, 4: 134, 5: 135 }

/**
 * Returns the reason of MQTT 5 for the code of a CONNACK. A broker without MQTT 5 answers one in the form of 3.1.1.
 */
export function connectReason(code: number): number {
  return REFUSALS_OF_4[code] ?? code
}

/** Returns a reason code in words: `not authorised (135)`. */
export function reasonText(reason: number): string {
  return `${REASONS[reason] ?? 'unknown reason'} (${reason})`
}
