import net from 'node:net'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createMqttClient, type MqttClient } from '../../src/ingest/mqtt/client.js'
import { SYSTEM_TIMERS } from '../../src/ingest/mqtt/timers.js'
import type { Loader } from '../../src/tables/loader.js'
import { manualTimers, quickTimers, until } from '../support/manual-timers.js'
import { type Mosquitto, startMosquitto, withoutMosquitto } from '../support/mosquitto.js'
import { type MqttWorld, RAIN, startMqttWorld } from '../support/mqtt-world.js'
import { NOW_US } from '../support/tables.js'

const skip = withoutMosquitto()
/** Timers whose waits are a tenth. */
const FAST = quickTimers(10)

type TestLike = Parameters<typeof startMqttWorld>[0]

/** Starts a client that publishes, with a session that is never taken up. */
async function startSensor(t: TestLike, port: number): Promise<MqttClient> {
  const client = createMqttClient({
    ...{ version: 5, clientId: 'sensor', keepAliveS: 60, connectTimeoutMs: 10_000, maxPacketBytes: 100_000 },
    retry: { baseMs: 10, capMs: 50 },
    timers: SYSTEM_TIMERS,
    random: () => 1,
    credentials: async () => ({}),
    openSocket: async () => net.connect({ host: '127.0.0.1', port }),
    wanted: () => [],
    kept: { read: () => [], note: () => undefined },
    onMessage: () => undefined,
    onState: () => undefined,
  })
  t.teardown(() => client.stop())
  client.start()
  await until(() => client.state().isConnected, 'the sensor is connected')
  return client
}

/** Publishes messages of numbered seconds. */
async function send(sensor: MqttClient, from: number, count: number, topic = 'farm/g1/rain'): Promise<void> {
  const bodies = Array.from({ length: count }, (_, at) => ({ mm: from + at, t: 1_735_700_000 + from + at }))
  await Promise.all(
    bodies.map((body) =>
      sensor.publish({ topic, payload: Buffer.from(JSON.stringify(body)), qos: 1, isRetained: false }),
    ),
  )
}

function world(t: TestLike, broker: Record<string, unknown>, rest: object = {}): Promise<MqttWorld> {
  const map = {
    filter: 'farm/+/rain',
    table: 'rain',
    columns: { mm: 'mm' },
    topicColumns: { gauge: 2 },
    time: { path: 't' },
  }
  return startMqttWorld(t, { tables: [RAIN], timers: FAST, ...rest, broker: { maps: [map], ...broker } })
}

const statusOf = async ({ ingest }: MqttWorld) => (await ingest.status()).get('test')
const rowsCome = async (found: MqttWorld, count: number) => {
  for (let tries = 0; (await found.rows('rain')).length < count; tries++) {
    if (tries > 2000) throw new Error(`${(await found.rows('rain')).length} rows, expected ${count}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
/** Waits for the reason of the last failure, which another one may precede. */
const reasonOf = async (found: MqttWorld, expected: RegExp) => {
  for (let tries = 0; tries < 2000; tries++) {
    const { lastError } = (await statusOf(found)) ?? { lastError: null }
    if (lastError !== null && expected.test(lastError)) return lastError
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return (await statusOf(found))?.lastError
}

t.test(
  'mosquitto: nothing is lost while the ingest is away or the broker restarts; both versions, QoS 1 and 2',
  { skip },
  async (t) => {
    const broker: Mosquitto = await startMosquitto(t)
    for (const [version, qos] of [
      [5, 1],
      [4, 1],
      [5, 2],
      [4, 2],
    ] as const) {
      const map = {
        filter: 'farm/+/rain',
        qos,
        table: 'rain',
        columns: { mm: 'mm' },
        topicColumns: { gauge: 2 },
        time: { path: 't' },
      }
      const settings = {
        url: `mqtt://127.0.0.1:${broker.port}`,
        version,
        clientId: `gateway-${version}-${qos}`,
        maps: [map],
      }
      await t.test(`version ${version}, QoS ${qos}`, async (t) => {
        const first = await world(t, settings)
        const { test, state } = first
        await until(() => first.logLines.some(({ message }) => message === 'the broker is connected'))
        while ((await state.ingest.brokers())[0]?.filters.length !== 1)
          await new Promise((resolve) => setTimeout(resolve, 5))
        const sensor = await startSensor(t, broker.port)
        await send(sensor, 0, 300)
        await rowsCome(first, 300)
        await first.ingest.stop()
        await send(sensor, 300, 300)
        const second = await world(t, settings, { test, state, tables: [] })
        await rowsCome(second, 600)
        await broker.restart()
        await until(() => sensor.state().reconnects > 0 && sensor.state().isConnected)
        await send(sensor, 600, 300)
        await rowsCome(second, 900)
        t.equal((await second.rows('rain')).length, 900)
        const status = await statusOf(second)
        t.match(status, { rejects: 0, lostSessions: 0, isConnected: true })
        t.ok((status?.reconnects ?? 0) >= 1)
        await second.ingest.stop()
      })
    }
  },
)

t.test(
  'mosquitto: a broker that is gone for an hour is told, and has every message afterwards',
  { skip },
  async (t) => {
    const broker = await startMosquitto(t)
    await t.test('by a clock that the test moves', (t) => outlastAnHour(t, broker))
  },
)

/** While the clock is moved, an attempt may end by its time before the system refuses it. */
const AWAY = /ECONNREFUSED|has not accepted the connection/

async function outlastAnHour(t: Test, broker: Mosquitto): Promise<void> {
  const timers = manualTimers()
  const startUs = Number(NOW_US)
  const nowUs = () => startUs + timers.nowMs() * 1000
  let isOpen = true
  const wrap = (loader: Loader): Pick<Loader, 'add'> => ({
    async add(target, records) {
      await until(() => isOpen)
      return await loader.add(target, records)
    },
  })
  const found = await world(t, { url: `mqtt://127.0.0.1:${broker.port}` }, { timers, nowUs, wrap })
  const moveUntil = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) {
      timers.advance(2)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  const rowsAre = (count: number) => moveUntil(async () => (await found.rows('rain')).length === count)
  await moveUntil(async () => ((await statusOf(found))?.subscriptions ?? 0) === 1)
  const sensor = await startSensor(t, broker.port)
  await send(sensor, 0, 50)
  await rowsAre(50)
  isOpen = false
  await send(sensor, 50, 250) // the broker has them, the gateway has not stored them
  await broker.restart(async () => {
    await until(() => found.logLines.some(({ message }) => message === 'the broker is not connected'))
    const { sinceUs = 0 } = (await statusOf(found)) ?? {}
    isOpen = true
    const endMs = timers.nowMs() + 3_600_000
    while (timers.nowMs() < endMs) {
      timers.advance(Math.min((timers.next() ?? endMs) - timers.nowMs(), endMs - timers.nowMs()))
      for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    const status = await statusOf(found)
    t.match(status, { isConnected: false, sinceUs, lastError: AWAY, rejects: 0 })
    const [noted] = await found.state.ingest.brokers()
    t.match(noted, { status: { isConnected: false, sinceUs, lastError: AWAY } })
    t.ok(nowUs() - (noted?.notedAtUs ?? 0) <= 90_000_000, 'it is noted each minute, for doctor')
  })
  await until(() => sensor.state().reconnects > 0 && sensor.state().isConnected)
  await send(sensor, 300, 100)
  await rowsAre(400)
  t.match(await statusOf(found), { isConnected: true, reconnects: 1, lostSessions: 0, rejects: 0 })
  const connectedUs = nowUs()
  timers.advance(1000)
  await found.ingest.stop()
  const [stopped] = await found.state.ingest.brokers()
  t.match(stopped, { status: { isConnected: false, lastError: 'stopped' } })
  t.ok((stopped?.status?.sinceUs ?? 0) > connectedUs, 'a stop is no long absence of the broker')
}

t.test(
  'mosquitto: TLS with a certificate of the client, and each way in which it fails',
  { skip },
  async (t) => {
    const broker = await startMosquitto(t)
    const file = (name: string) => path.join(broker.certDir, name)
    const own = { certFile: file('client.pem'), keyFile: file('client.key') }
    const url = `mqtts://localhost:${broker.tlsPort}`
    await t.test('trusted', async (t) => {
      const found = await world(t, { url, caFile: file('ca.pem'), ...own })
      await until(() => found.logLines.some(({ message }) => message === 'the broker is connected'))
      await send(await startSensor(t, broker.port), 0, 10)
      await rowsCome(found, 10)
    })
    const cases: readonly [string, Record<string, unknown>, RegExp][] = [
      ['another authority', { url, caFile: file('other.pem'), ...own }, /certificate|self.signed|issuer/i],
      [
        'another name',
        { url: url.replace('localhost', '127.0.0.1'), caFile: file('ca.pem'), ...own },
        /IP: 127\.0\.0\.1 is not in the cert/,
      ],
      ['no certificate', { url, caFile: file('ca.pem') }, /certificate required/],
      [
        'a certificate of another authority',
        { url, caFile: file('ca.pem'), certFile: file('other.pem'), keyFile: file('other.key') },
        /TLS: .*(unknown ca|bad certificate)/,
      ],
      ['a file that is missing', { url, caFile: file('gone.pem') }, /caFile: .*gone\.pem cannot be read/],
      [
        'a key of another certificate',
        { url, caFile: file('ca.pem'), certFile: file('client.pem'), keyFile: file('ca.key') },
        /cannot be used: .*key values mismatch/,
      ],
      ['a broker without TLS', { url: `mqtts://localhost:${broker.port}`, caFile: file('ca.pem') }, /.+/],
      [
        'a user that is missing',
        { url: `mqtt://127.0.0.1:${broker.passwordPort}` },
        /refuses the connection: not authorised \(135\)/,
      ],
      ['nobody there', { url: 'mqtt://127.0.0.1:1' }, /ECONNREFUSED/],
    ]
    for (const [name, settings, expected] of cases)
      await t.test(name, async (t) => {
        const found = await world(t, settings)
        t.match(await reasonOf(found, expected), expected)
        t.equal((await statusOf(found))?.isConnected, false)
      })
  },
)
