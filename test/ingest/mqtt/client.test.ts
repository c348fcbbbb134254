import net from 'node:net'
import mqttPacket from 'mqtt-packet'
import t from 'tap'
import {
  type ClientOptions,
  createMqttClient,
  type MqttClient,
  type Received,
} from '../../../src/ingest/mqtt/client.js'
import type { Subscription } from '../../../src/ingest/mqtt/encode.js'
import { SYSTEM_TIMERS } from '../../../src/ingest/mqtt/timers.js'
import { type FakeBroker, startFakeBroker } from '../../support/fake-broker.js'
import { manualTimers, until } from '../../support/manual-timers.js'

interface TestClient {
  readonly client: MqttClient
  readonly messages: Received[]
  /** filters that the client keeps for the next start */
  readonly kept: { filters: readonly string[] }
  /** what is wanted; `refresh` takes changes over */
  wanted: Subscription[]
}

const sub = (filter: string, qos: 0 | 1 | 2 = 1): Subscription => ({ filter, qos, isRetainedWanted: false })

function startClient(
  t: TestLike,
  port: number,
  options: Partial<ClientOptions> & { kept0?: readonly string[] } = {},
): TestClient {
  const messages: Received[] = []
  const kept = { filters: options.kept0 ?? [] }
  const test: { wanted: Subscription[] } = { wanted: [sub('a/#')] }
  const client = createMqttClient({
    ...{ version: 5, clientId: 'c', keepAliveS: 60, connectTimeoutMs: 10_000, maxPacketBytes: 100_000 },
    retry: { baseMs: 1, capMs: 5 },
    timers: SYSTEM_TIMERS,
    random: () => 1,
    credentials: async () => ({}),
    openSocket: async () => net.connect({ host: '127.0.0.1', port }),
    wanted: () => test.wanted,
    kept: {
      read: () => kept.filters,
      note(next) {
        kept.filters = next
      },
    },
    onMessage: (message) => messages.push(message),
    onState: () => undefined,
    ...options,
  })
  t.teardown(() => client.stop())
  client.start()
  return Object.assign(test, { client, messages, kept })
}

type TestLike = { teardown(work: () => unknown): unknown }

const publish = (messageId: number, qos: 0 | 1 | 2, topic = 'a/b'): mqttPacket.IPublishPacket => ({
  ...{ cmd: 'publish', topic, payload: Buffer.from('x'), qos, dup: false, retain: false },
  ...(qos === 0 ? {} : { messageId }),
})

const subscribed = (broker: FakeBroker) => until(() => broker.log.includes('subscribe'), 'a subscription')

t.test('client: a message is acknowledged when the caller says so, and not before', async (t) => {
  for (const version of [4, 5] as const) {
    const broker = await startFakeBroker(t, { version })
    const { client, messages } = startClient(t, broker.port, { version })
    await subscribed(broker)
    const side = broker.last()
    side.send(publish(1, 1))
    side.send(publish(2, 2))
    side.send(publish(0, 0))
    side.send(publish(3, 1))
    await until(() => messages.length === 4)
    t.same(
      broker.log.filter((line) => /^pub/.test(line)),
      [],
      'the next messages come without an acknowledgement',
    )
    client.acknowledge(messages)
    await until(() => broker.log.includes('pubcomp 2'))
    t.same(
      broker.log.filter((line) => /^pub/.test(line)),
      ['puback 1', 'pubrec 2', 'puback 3', 'pubcomp 2'],
    )
    await client.stop()
    await until(() => broker.log.includes('disconnect'))
  }
})

t.test(
  'client: while it pauses, messages that have come wait as bytes, and then go on in order',
  async (t) => {
    const broker = await startFakeBroker(t)
    const ids: number[] = []
    const { client } = startClient(t, broker.port, {
      onMessage({ packetId }) {
        ids.push(packetId)
        if (packetId % 3 === 0) client.pause()
      },
    })
    await subscribed(broker)
    const burst = Array.from({ length: 10 }, (_, at) =>
      mqttPacket.generate(publish(at + 1, 1), { protocolVersion: 5 }),
    )
    broker.last().sendBytes(Buffer.concat(burst))
    await until(() => ids.length > 0)
    for (const expected of [3, 6, 9, 10]) {
      t.equal(ids.length, expected)
      client.resume()
    }
    t.same(
      ids,
      Array.from({ length: 10 }, (_, at) => at + 1),
    )
  },
)

t.test('client: acknowledgements of an earlier connection are not sent', async (t) => {
  const broker = await startFakeBroker(t, { connack: () => ({ sessionPresent: broker.sides.length > 1 }) })
  const { client, messages } = startClient(t, broker.port)
  await subscribed(broker)
  broker.last().send(publish(1, 1))
  await until(() => messages.length === 1)
  broker.last().drop()
  await until(() => broker.sides.length === 2 && client.state().isConnected)
  const [old] = messages as [Received]
  t.equal(client.isOpen(old), false)
  client.acknowledge([old])
  broker.last().send(publish(1, 1))
  await until(() => messages.length === 2)
  client.acknowledge(messages)
  await until(() => broker.log.includes('puback 1'))
  t.equal(broker.log.filter((line) => line === 'puback 1').length, 1)
  t.match(client.state(), { isConnected: true, reconnects: 1, lostSessions: 0 })
  t.match(client.state().lastError, /closed the connection/)
})

t.test('client: a session that the broker has forgotten is counted', async (t) => {
  const broker = await startFakeBroker(t)
  const { client, kept } = startClient(t, broker.port, { kept0: ['a/#'] })
  await subscribed(broker)
  t.equal(client.state().lostSessions, 1)
  t.same(kept.filters, ['a/#'])
})

t.test('client: subscriptions follow the settings, also over a restart', async (t) => {
  const broker = await startFakeBroker(t, {
    connack: () => ({ sessionPresent: true }),
    grant: (filter, qos) => (filter === 'secret' ? 135 : filter === 'low' ? 0 : qos),
  })
  const test = startClient(t, broker.port, { kept0: ['old/#', 'a/#'] })
  await until(() => broker.log.includes('unsubscribe') && broker.log.includes('subscribe'))
  t.match(
    broker.last().packets.find(({ cmd }) => cmd === 'unsubscribe'),
    { unsubscriptions: ['old/#'] },
  )
  await until(() => !test.kept.filters.includes('old/#'))
  test.wanted = [sub('secret'), sub('low'), sub('b')]
  test.client.refresh()
  await until(() => test.client.refusals().size === 2)
  t.same(
    [...test.client.refusals().values()],
    ['the broker refuses secret: not authorised (135)', 'the broker grants low QoS 0, expected 1'],
  )
  await until(() => !test.kept.filters.includes('a/#'))
  t.same([...test.kept.filters].sort(), ['b', 'low', 'secret'])
  test.wanted = [sub('b')]
  test.client.refresh()
  t.equal(test.client.refusals().size, 0)
  const before = broker.log.length
  test.client.refresh()
  await until(() => broker.log.length > before)
  t.equal(broker.log.filter((line) => line === 'subscribe').length, 2, 'what is there is not asked for again')
})

t.test('client: each refusal has its reason', async (t) => {
  const cases: readonly [Parameters<typeof startFakeBroker>[1], RegExp][] = [
    [{ connack: () => ({ reasonCode: 134 }) }, /refuses the connection: wrong user name or password \(134\)/],
    [{ version: 4, connack: () => ({ returnCode: 5 }) }, /not authorised \(135\)/],
    [
      {
        onPacket: (packet, side) =>
          packet.cmd === 'subscribe' && side.send({ cmd: 'disconnect', reasonCode: 142 }),
      },
      /ended the connection: another client has connected with the same client id \(142\)/,
    ],
    [
      { onPacket: (packet, side) => packet.cmd === 'subscribe' && side.sendBytes(Buffer.from([0x36, 0])) },
      /breaks the protocol: found /,
    ],
  ]
  for (const [script, expected] of cases) {
    const broker = await startFakeBroker(t, script)
    const { client } = startClient(t, broker.port, {
      version: script?.version ?? 5,
      retry: { baseMs: 60_000, capMs: 60_000 },
    })
    await until(() => client.state().lastError !== null)
    t.match(client.state().lastError, expected)
    t.equal(client.state().isConnected, false)
  }
  const broker = await startFakeBroker(t)
  const fails = (part: Partial<ClientOptions>) =>
    startClient(t, broker.port, { retry: { baseMs: 60_000, capMs: 60_000 }, ...part })
  const noFile = fails({ credentials: () => Promise.reject(new Error('passwordFile: x cannot be read')) })
  await until(() => noFile.client.state().lastError !== null)
  t.match(noFile.client.state().lastError, /passwordFile/)
})

t.test('client: a message before the broker has accepted ends the connection', async (t) => {
  const broker = await startFakeBroker(t, { connack: () => ({}) })
  const server = net.createServer((socket) => socket.write(Buffer.from([0xd0, 0])))
  server.listen(0, '127.0.0.1')
  await until(() => server.listening)
  t.teardown(() => server.close())
  const { port } = server.address() as net.AddressInfo
  const { client } = startClient(t, port, { retry: { baseMs: 60_000, capMs: 60_000 } })
  await until(() => client.state().lastError !== null)
  t.match(client.state().lastError, /found a pingresp before the broker has accepted/)
  await broker.close()
})

t.test(
  'client: a broker that is gone for an hour is called again, ever more seldom, and then served',
  async (t) => {
    const timers = manualTimers()
    const broker = await startFakeBroker(t)
    let calls = 0
    let isGone = true
    const { client } = startClient(t, 0, {
      ...{ timers, retry: { baseMs: 1000, capMs: 60_000 } },
      async openSocket() {
        calls++
        if (isGone) throw new Error('connect ECONNREFUSED 127.0.0.1:1883')
        return net.connect({ host: '127.0.0.1', port: broker.port })
      },
    })
    const waits: number[] = []
    while (timers.nowMs() < 3_600_000) {
      await until(() => timers.next() !== undefined)
      const wait = (timers.next() ?? 0) - timers.nowMs()
      waits.push(wait)
      timers.advance(wait)
    }
    t.same(waits.slice(0, 8), [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
    t.ok(calls < 80, `${calls} calls in an hour`)
    t.match(client.state(), {
      isConnected: false,
      lastError: 'connect ECONNREFUSED 127.0.0.1:1883',
      reconnects: 0,
    })
    isGone = false
    await until(() => timers.next() !== undefined)
    timers.advance(60_000)
    await subscribed(broker)
    t.equal(client.state().isConnected, true)
  },
)

t.test('client: a silent broker is given up, and one that never answers', async (t) => {
  const timers = manualTimers()
  const script = { isMute: true, connack: () => ({ properties: { serverKeepAlive: 10 } }) }
  const broker = await startFakeBroker(t, script)
  const { client, messages } = startClient(t, broker.port, { timers })
  await subscribed(broker)
  timers.advance(5000)
  await until(() => broker.log.includes('pingreq'))
  broker.last().send(publish(0, 0))
  await until(() => messages.length === 1)
  timers.advance(5000)
  t.equal(client.state().isConnected, true, 'any packet is a sign of life')
  client.pause()
  timers.advance(5000)
  t.equal(client.state().isConnected, true, 'a client that does not read hears nothing')
  client.resume()
  timers.advance(10_000)
  t.match(client.state().lastError, /the broker has not answered a ping within 5 s/)

  const mute = net.createServer((socket) => void socket.on('data', () => undefined))
  mute.listen(0, '127.0.0.1')
  await until(() => mute.listening)
  t.teardown(() => mute.close())
  const deaf = manualTimers()
  const other = startClient(t, (mute.address() as net.AddressInfo).port, { timers: deaf })
  await until(() => deaf.next() === 10_000)
  deaf.advance(10_000)
  t.match(other.client.state().lastError, /has not accepted the connection within 10000 ms/)
  await client.stop()
})

t.test('client: what is published is acknowledged, refused, or fails with the connection', async (t) => {
  const broker = await startFakeBroker(t, {
    connack: () => ({ properties: { receiveMaximum: 2, maximumPacketSize: 200 } }),
    onPacket(packet, side) {
      if (packet.cmd !== 'publish' || packet.qos !== 1) return
      if (packet.topic === 'drop') return side.drop()
      side.send({
        cmd: 'puback',
        messageId: packet.messageId ?? 0,
        reasonCode: packet.topic === 'no' ? 135 : 0,
      })
    },
  })
  const { client } = startClient(t, broker.port)
  const message = (topic: string, qos: 0 | 1 = 1) => ({
    topic,
    payload: Buffer.from('x'),
    qos,
    isRetained: false,
  })
  await t.rejects(client.publish(message('early')), /not connected/)
  await subscribed(broker)
  await Promise.all(Array.from({ length: 10 }, (_, at) => client.publish(message(`t${at}`))))
  await client.publish(message('zero', 0))
  await t.rejects(client.publish(message('no')), /refuses the message: not authorised/)
  await t.rejects(
    client.publish({ ...message('big'), payload: Buffer.alloc(500) }),
    /the message has 5\d\d bytes, the broker takes 200/,
  )
  const failed = Promise.allSettled([client.publish(message('drop')), client.publish(message('after'))])
  t.same(
    (await failed).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  t.same(
    broker.sides[0]?.packets
      .flatMap((packet) => (packet.cmd === 'publish' ? [packet.topic] : []))
      .slice(0, 12),
    [...Array.from({ length: 10 }, (_, at) => `t${at}`), 'zero', 'no'],
    'in their order',
  )
})
