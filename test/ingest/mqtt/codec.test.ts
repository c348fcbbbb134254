import fc from 'fast-check'
import mqttPacket from 'mqtt-packet'
import t from 'tap'
import { decodePacket, type Frame } from '../../../src/ingest/mqtt/decode.js'
import {
  encodeAcks,
  encodeConnect,
  encodeDisconnect,
  encodePing,
  encodePublish,
  encodeSubscribe,
  encodeUnsubscribe,
} from '../../../src/ingest/mqtt/encode.js'
import { createFramer } from '../../../src/ingest/mqtt/framer.js'
import {
  connectReason,
  type Packet,
  type ProtocolVersion,
  reasonText,
} from '../../../src/ingest/mqtt/packets.js'

const MAX_BYTES = 100_000
const VERSIONS: readonly ProtocolVersion[] = [4, 5]

/** Decodes bytes of a client by the package that nobody here wrote. */
function readByPackage(bytes: Buffer, version: ProtocolVersion): mqttPacket.Packet {
  const parser = mqttPacket.parser({ protocolVersion: version })
  const found: mqttPacket.Packet[] = []
  parser.on('packet', (packet) => found.push(packet))
  parser.on('error', (error) => {
    throw error
  })
  if (parser.parse(bytes) !== 0 || found.length !== 1) throw new Error('expected one whole packet')
  return found[0] as mqttPacket.Packet
}

/** Decodes the bytes of a broker, in pieces of some sizes. */
function read(
  bytes: Buffer,
  version: ProtocolVersion,
  sizes: readonly number[] = [bytes.length],
  max = MAX_BYTES,
) {
  const framer = createFramer(max)
  const frames: Frame[] = []
  let at = 0
  for (let turn = 0; at < bytes.length; turn++) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1)
    framer.push(
      bytes.subarray(at, at + size),
      (frame) => frames.push({ ...frame, body: Buffer.from(frame.body) }), // valid while it is handled
      () => true,
    )
    at += size
  }
  return frames.map((frame): Packet => decodePacket(frame, version))
}

t.test('codec: a CONNECT keeps the session, with and without a password', async (t) => {
  for (const version of VERSIONS) {
    const bytes = encodeConnect({
      version,
      clientId: 'äb',
      keepAliveS: 300,
      username: 'u',
      password: Buffer.from('p'),
    })
    const packet = readByPackage(bytes, version)
    t.match(packet, {
      cmd: 'connect',
      protocolVersion: version,
      clean: false,
      clientId: 'äb',
      keepalive: 300,
    })
    t.match(packet, { username: 'u', password: Buffer.from('p') })
    if (version === 5) t.match(packet, { properties: { sessionExpiryInterval: 0xffffffff } })
    const open = readByPackage(encodeConnect({ version, clientId: 'x', keepAliveS: 5 }), version)
    t.notOk('username' in open && open.username)
  }
})

t.test(
  'codec: a SUBSCRIBE asks for no retained messages and none of its own, an UNSUBSCRIBE names filters',
  async (t) => {
    const wanted = [
      { filter: 'a/+', qos: 1, isRetainedWanted: false },
      { filter: '$share/g/b', qos: 2, isRetainedWanted: true },
    ] as const
    t.match(readByPackage(encodeSubscribe(5, 7, wanted), 5), {
      cmd: 'subscribe',
      messageId: 7,
      subscriptions: [
        { topic: 'a/+', qos: 1, nl: true, rap: false, rh: 2 },
        { topic: '$share/g/b', qos: 2, nl: false, rap: false, rh: 1 },
      ],
    })
    t.match(readByPackage(encodeSubscribe(4, 9, wanted), 4), { subscriptions: [{ qos: 1 }, { qos: 2 }] })
    for (const version of VERSIONS)
      t.match(readByPackage(encodeUnsubscribe(version, 8, ['a/+', 'b']), version), {
        cmd: 'unsubscribe',
        messageId: 8,
        unsubscriptions: ['a/+', 'b'],
      })
  },
)

t.test('property: a message that is sent is the one that a broker reads', async (t) => {
  const message = fc.record({
    topic: fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 50 })
      .filter((text) => !/[+#\0]/.test(text)),
    payload: fc.uint8Array({ maxLength: 300 }),
    qos: fc.constantFrom(0 as const, 1 as const),
    isRetained: fc.boolean(),
  })
  fc.assert(
    fc.property(
      message,
      fc.constantFrom(...VERSIONS),
      fc.integer({ min: 1, max: 65_535 }),
      (sent, version, id) => {
        const packet = readByPackage(encodePublish(version, id, sent), version) as mqttPacket.IPublishPacket
        t.same([packet.topic, packet.qos, packet.retain], [sent.topic, sent.qos, sent.isRetained])
        t.ok(Buffer.from(packet.payload).equals(Buffer.from(sent.payload)))
        if (sent.qos === 1) t.equal(packet.messageId, id)
      },
    ),
    { numRuns: 50 },
  )
})

t.test('property: the packets of a broker are read whatever the pieces in which they come', async (t) => {
  const published = fc.record({
    topic: fc.string({ minLength: 1, maxLength: 30 }).filter((text) => !/[+#\0]/.test(text)),
    payload: fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
    qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
    retain: fc.boolean(),
    dup: fc.boolean(),
    messageId: fc.integer({ min: 1, max: 65_535 }),
    note: fc.string({ maxLength: 20 }),
  })
  const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(
      fc.array(published, { maxLength: 6 }),
      pieces,
      fc.constantFrom(...VERSIONS),
      (list, sizes, version) => {
        const bytes = list.map(({ note, dup, ...one }) => {
          const properties = {
            userProperties: { note },
            messageExpiryInterval: 5,
            contentType: note,
            subscriptionIdentifier: 300,
          }
          const isDup = dup && one.qos > 0
          return mqttPacket.generate(
            { cmd: 'publish', ...one, dup: isDup, ...(version === 5 ? { properties } : {}) },
            { protocolVersion: version },
          )
        })
        const found = read(Buffer.concat(bytes), version, sizes)
        t.same(
          found,
          list.map(({ topic, payload, qos, retain, dup, messageId }) => ({
            ...{ type: 'publish', topic, payload, payloadBytes: payload.length, isCut: false, qos },
            ...{ isRetained: retain, isDuplicate: dup && qos > 0, packetId: qos === 0 ? 0 : messageId },
          })),
        )
      },
    ),
    { numRuns: 60 },
  )
})

t.test('codec: the answers of a broker, with the limits that it names', async (t) => {
  const properties = {
    ...{
      receiveMaximum: 20,
      maximumQoS: 1,
      maximumPacketSize: 1000,
      serverKeepAlive: 30,
      sessionExpiryInterval: 60,
    },
    ...{
      assignedClientIdentifier: 'x',
      reasonString: 'y',
      userProperties: { a: 'b' },
      retainAvailable: true,
    },
  }
  const connack = { cmd: 'connack', sessionPresent: true, reasonCode: 0, returnCode: 0 } as const
  const limits = {
    receiveMaximum: 20,
    maximumQos: 1,
    maximumPacketBytes: 1000,
    keepAliveS: 30,
    sessionExpiryS: 60,
  }
  t.same(read(mqttPacket.generate({ ...connack, properties }, { protocolVersion: 5 }), 5), [
    { type: 'connack', isSessionPresent: true, reason: 0, limits },
  ])
  t.match(read(mqttPacket.generate({ ...connack, returnCode: 5 }, { protocolVersion: 4 }), 4), [
    { reason: 135, limits: { receiveMaximum: 65_535, maximumQos: 2, maximumPacketBytes: Infinity } },
  ])
  for (const version of VERSIONS) {
    const options = { protocolVersion: version }
    for (const cmd of ['puback', 'pubrec', 'pubrel', 'pubcomp'] as const) {
      const bytes = mqttPacket.generate({ cmd, messageId: 300 }, options)
      t.same(read(bytes, version), [{ type: cmd, packetId: 300, reason: 0 }], cmd)
      t.match(
        readByPackage(encodeAcks([{ type: cmd, packetId: 300 }]), version),
        { cmd, messageId: 300 },
        cmd,
      )
    }
    const suback = mqttPacket.generate({ cmd: 'suback', messageId: 3, granted: [1, 128] }, options)
    t.same(read(suback, version), [{ type: 'suback', packetId: 3, reasons: [1, 128] }])
    t.same(read(mqttPacket.generate({ cmd: 'pingresp' }, options), version), [{ type: 'pingresp' }])
    t.match(readByPackage(encodePing(), version), { cmd: 'pingreq' })
    t.match(readByPackage(encodeDisconnect(), version), { cmd: 'disconnect' })
  }
  const goodbye = mqttPacket.generate({ cmd: 'disconnect', reasonCode: 142 }, { protocolVersion: 5 })
  t.same(read(goodbye, 5), [{ type: 'disconnect', reason: 142 }])
  t.same(connectReason(1), 132, 'the answer of a broker without MQTT 5')
  t.equal(reasonText(142), 'another client has connected with the same client id (142)')
  t.equal(reasonText(99), 'unknown reason (99)')
})

t.test('codec: a message above the limit is not held, and what follows it is read', async (t) => {
  for (const version of VERSIONS) {
    const options = { protocolVersion: version }
    const large = { cmd: 'publish', topic: 'big', qos: 1, messageId: 5, dup: false, retain: false } as const
    const bytes = Buffer.concat([
      mqttPacket.generate({ ...large, payload: Buffer.alloc(300_000, 'x') }, options),
      mqttPacket.generate({ ...large, topic: 'next', payload: 'y', messageId: 6 }, options),
    ])
    const [first, second] = read(bytes, version, [70_000, 10])
    t.match(first, { topic: 'big', packetId: 5, isCut: true, payloadBytes: 300_000 })
    t.ok(first?.type === 'publish' && first.payload.length < 75_000, 'a sample alone is held')
    t.match(second, { topic: 'next', packetId: 6, isCut: false, payload: Buffer.from('y') })
  }
})

t.test('codec: a message of many chunks is read, and small ones before and after it', async (t) => {
  const sizes = [10, 300_000, 20, 150_000, 30]
  const sent = sizes.map(
    (size) => ({ topic: 'a', payload: Buffer.alloc(size, size % 251), qos: 1, isRetained: false }) as const,
  )
  const bytes = Buffer.concat(sent.map((message, at) => encodePublish(5, at + 1, message)))
  for (const chunk of [50_000, 65_536, 1_000_000]) {
    const packets = read(bytes, 5, [chunk], 500_000)
    t.equal(packets.length, sizes.length)
    for (const [at, packet] of packets.entries())
      t.ok(packet.type === 'publish' && packet.payload.equals(sent[at]?.payload ?? Buffer.alloc(0)))
  }
})

t.test('codec: bytes that break the protocol are refused', async (t) => {
  const cases: readonly [string, readonly number[], ProtocolVersion][] = [
    ['a length of five bytes', [0x30, 0x80, 0x80, 0x80, 0x80, 1], 5],
    ['a large packet that is no message', [0x90, 0xff, 0xff, 0x7f, 0], 5],
    ['QoS 3', [0x36, 5, 0, 1, 97, 0, 1], 4],
    ['packet id 0', [0x32, 5, 0, 1, 97, 0, 0], 4],
    ['a topic beyond the packet', [0x30, 3, 0, 9, 97], 4],
    ['no topic', [0x30, 2, 0, 0], 4],
    ['properties beyond the packet', [0x30, 4, 0, 1, 97, 9], 5],
    ['an unknown property', [0x20, 5, 0, 0, 2, 0x7e, 1], 5],
    ['a property cut in its value', [0x20, 5, 0, 0, 2, 0x21, 1], 5],
    ['a packet that ends too early', [0x40, 1, 0], 4],
    ['a packet of clients', [0xc0, 0], 4],
    ['a varint of five bytes', [0x20, 7, 0, 0, 0x80, 0x80, 0x80, 0x80, 1], 5],
  ]
  for (const [name, bytes, version] of cases)
    t.throws(() => read(Buffer.from(bytes), version), /found /, name)
})

t.test('property: random bytes are read or refused, without end or memory', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...VERSIONS), (bytes, version) => {
      try {
        read(Buffer.from(bytes), version)
      } catch (error) {
        t.match((error as Error).message, /^found /)
      }
    }),
    { numRuns: 300 },
  )
})
