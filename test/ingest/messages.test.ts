import type mqttPacket from 'mqtt-packet'
import t from 'tap'
import { AppError } from '../../src/errors.js'
import type { Loader } from '../../src/tables/loader.js'
import { type FakeBroker, startFakeBroker } from '../support/fake-broker.js'
import { quickTimers, until } from '../support/manual-timers.js'
import { type MqttWorld, RAIN, startMqttWorld } from '../support/mqtt-world.js'

/** Timers whose waits are a fiftieth. */
const FAST = quickTimers(50)

const RAIN_MAP = {
  filter: 'farm/+/rain',
  table: 'rain',
  columns: { mm: 'mm', note: 'note' },
  topicColumns: { gauge: 2 },
  time: { path: 't' },
}

/** A message about a gauge; the second of its time is its number. */
function rain(
  id: number,
  body: unknown = { mm: id, t: 1_735_700_000 + id },
  qos: 0 | 1 | 2 = 1,
): mqttPacket.IPublishPacket {
  const payload = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return { cmd: 'publish', topic: 'farm/g1/rain', payload, qos, dup: false, retain: false, messageId: id }
}

const acks = (broker: FakeBroker) => broker.log.filter((line) => /^pub(ack|rec)/.test(line))
const subscribed = (broker: FakeBroker) => until(() => broker.log.includes('subscribe'), 'a subscription')
const acked = (broker: FakeBroker, count: number) =>
  until(() => acks(broker).length >= count, `${count} acknowledgements`)
const statusOf = async ({ ingest }: MqttWorld) => {
  const status = (await ingest.status()).get('test')
  if (status === undefined) throw new Error('no status')
  return status
}

async function world(
  t: Parameters<typeof startMqttWorld>[0],
  broker: FakeBroker,
  options: Partial<Parameters<typeof startMqttWorld>[1]> & { maps?: unknown[]; publish?: unknown[] } = {},
): Promise<MqttWorld> {
  const { maps = [RAIN_MAP], publish = [], ...rest } = options
  const url = `mqtt://127.0.0.1:${broker.port}`
  return await startMqttWorld(t, {
    tables: [RAIN],
    timers: FAST,
    ...rest,
    broker: { url, maps, publish, ...rest.broker },
  })
}

t.test('messages: rows are on disk before each acknowledgement, in groups, in order', async (t) => {
  const broker = await startFakeBroker(t)
  const sizes: number[] = []
  const wrap = (loader: Loader): Pick<Loader, 'add'> => ({
    async add(target, records) {
      const counters = await loader.add(target, records)
      sizes.push(records.length)
      for (const record of records as { properties: { mm: number } }[])
        broker.log.push(`stored ${record.properties.mm}`)
      return counters
    },
  })
  const { rows, ingest } = await world(t, broker, { wrap })
  await subscribed(broker)
  for (let id = 1; id <= 250; id++) broker.last().send(rain(id, undefined, id % 5 === 0 ? 2 : 1))
  await acked(broker, 250)
  t.ok(sizes.length < 30 && Math.max(...sizes) <= 100, `groups of ${sizes.join(', ')}`)
  const at = new Map(broker.log.map((line, index) => [line, index]))
  const early = Array.from({ length: 250 }, (_, index) => index + 1).filter(
    (id) =>
      (at.get(`${id % 5 === 0 ? 'pubrec' : 'puback'} ${id}`) ?? -1) < (at.get(`stored ${id}`) ?? Infinity),
  )
  t.same(early, [], 'no acknowledgement before its commit')
  const order = acks(broker).map((line) => Number(line.split(' ')[1]))
  t.same(
    order,
    [...order].sort((a, b) => a - b),
    'in the order of the messages',
  )
  t.equal((await rows('rain')).length, 250)
  t.match((await ingest.status()).get('test'), {
    messages: 250,
    rows: 250,
    repeats: 0,
    rejects: 0,
    waiting: 0,
  })
})

t.test('messages: one that comes again changes nothing, unless the map overrides', async (t) => {
  const broker = await startFakeBroker(t)
  const found = await world(t, broker, {
    maps: [RAIN_MAP, { ...RAIN_MAP, filter: 'last/+', ifExists: 'override' }],
  })
  await subscribed(broker)
  broker.last().send(rain(1))
  broker.last().send({ ...rain(2, { mm: 9, t: 1_735_700_001 }), dup: true })
  await acked(broker, 2)
  t.match(await found.rows('rain'), [{ gauge: 'g1', mm: 1 }])
  t.match(await statusOf(found), { messages: 2, repeats: 1, rejects: 0 })
  broker.last().send({ ...rain(3, { mm: 9, t: 1_735_700_001 }), topic: 'last/g1' })
  await acked(broker, 3)
  t.match(await found.rows('rain'), [{ gauge: 'g1', mm: 9 }])
})

t.test(
  'messages: what cannot be stored is kept with its reason; the others of its group are stored',
  async (t) => {
    const broker = await startFakeBroker(t)
    const time = { ...RAIN_MAP.time, maxAgeS: 1_000_000 }
    const found = await world(t, broker, { maps: [{ ...RAIN_MAP, time }], broker: { maxMessageBytes: 2000 } })
    await subscribed(broker)
    const bad: readonly (readonly [unknown, RegExp])[] = [
      ['{"mm":', /^payload: found "\{\\"mm\\":", expected JSON$/],
      ['', /^payload: found "", expected JSON$/],
      [Buffer.from([0xff, 0, 1]), /^payload: found bytes that are not UTF-8, expected JSON$/],
      [Buffer.alloc(3000, 'x'), /^payload: found 3000 bytes, expected at most 2000$/],
      [Buffer.alloc(300_000, 'x'), /^payload: found 300000 bytes, expected at most 2000$/],
      [{ mm: 'wet', t: 1_735_700_010 }, /^mm: found "wet", expected a number/],
      [{ mm: 1 }, /^time: found nothing, expected a datetime, or a number since 1970$/],
      [{ mm: 1, t: 'noon' }, /^time: found "noon", expected a datetime/],
      [{ mm: 1, t: 1 }, /^time: found 1970-01-01T00:00:01.000000\+00:00, expected at most 1000000 s behind/],
      [{ mm: 1, t: 4_000_000_000 }, /^time: found 2096-.*, expected at most 86400 s ahead/],
      [{ mm: 1, t: 1_735_700_011, note: 'x\0y' }, /^note: found the character U\+0000/],
    ]
    let id = 0
    for (const [body] of bad) {
      broker.last().send(rain(++id, body))
      broker.last().send(rain(++id))
    }
    broker.last().send({ ...rain(++id), topic: 'elsewhere' })
    broker.last().send({ ...rain(++id), topic: `farm/${'g'.repeat(30)}/rain` })
    await acked(broker, id)
    t.equal((await found.rows('rain')).length, bad.length)
    const reasons = await found.reasons()
    t.equal(reasons.length, bad.length + 2)
    const expected = [
      ...bad.map(([, reason]) => reason),
      /^topic: found no map whose filter/,
      /^gauge: found 30 characters, expected at most 20$/,
    ]
    for (const reason of expected)
      t.ok(
        reasons.some((one) => reason.test(one)),
        String(reason),
      )
    const [newest] = await found.state.ingest.listRejects(1)
    t.match(newest, { broker: 'test', payloadBytes: Number })
    t.match(await statusOf(found), { rows: bad.length, rejects: bad.length + 2 })
  },
)

t.test(
  'messages: a fault of the disk is waited for, nothing is acknowledged or rejected meanwhile',
  async (t) => {
    const broker = await startFakeBroker(t)
    let failures = 0
    const wrap = (loader: Loader): Pick<Loader, 'add'> => ({
      add(target, records) {
        if (failures++ >= 3) return loader.add(target, records)
        broker.log.push('full')
        throw new AppError('DISK_FULL')
      },
    })
    const found = await world(t, broker, { wrap })
    await subscribed(broker)
    broker.last().send(rain(1))
    broker.last().send(rain(2, 'bad'))
    await until(() => broker.log.filter((line) => line === 'full').length === 2)
    t.match(await statusOf(found), {
      faults: [/^messages cannot be stored: The device is out of disk space/],
      rejects: 0,
    })
    await acked(broker, 2)
    t.same(
      broker.log.filter((line) => line === 'full' || /^pub/.test(line)),
      ['full', 'full', 'full', 'puback 1', 'puback 2'],
    )
    t.same((await found.reasons()).length, 1, 'the bad one once')
    t.match(await statusOf(found), { faults: [], rows: 1 })
    t.same(
      found.logLines.filter(({ level }) => level === 'error').map(({ message }) => message),
      ['messages cannot be stored; they wait'],
      'one line for the fault',
    )
  },
)

t.test(
  'messages: the broker waits while much is held, and what an ended connection brought is left to it',
  async (t) => {
    const broker = await startFakeBroker(t, { connack: () => ({ sessionPresent: broker.sides.length > 1 }) })
    let open: (() => void) | undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const wrap = (loader: Loader): Pick<Loader, 'add'> => ({
      async add(target, records) {
        await gate
        return await loader.add(target, records)
      },
    })
    const found = await world(t, broker, { wrap })
    await subscribed(broker)
    const wide = 'y'.repeat(2000)
    for (let id = 1; id <= 6000; id++)
      broker.last().send(rain(id, { mm: id, t: 1_735_700_000 + id, note: wide }))
    let held = 0
    await until(() => {
      void statusOf(found).then(({ waiting }) => {
        held = waiting
      })
      return held >= 100
    })
    t.equal(held, 100, 'a group of 6,000 messages is held')
    broker.last().drop()
    open?.()
    await until(() => broker.sides.length === 2)
    await until(() => broker.log.filter((line) => line === 'connect').length === 2)
    broker.last().send(rain(6001))
    await acked(broker, 1)
    t.same(acks(broker), ['puback 6001'], 'the others come again')
    t.match(await statusOf(found), { waiting: 0, isConnected: true, reconnects: 1 })
  },
)

t.test('messages: retained ones are left out unless a map wants them', async (t) => {
  const broker = await startFakeBroker(t)
  const maps = [RAIN_MAP, { ...RAIN_MAP, filter: 'kept/+/rain', retained: true }]
  const found = await world(t, broker, { maps })
  await subscribed(broker)
  broker.last().send({ ...rain(1), retain: true })
  broker.last().send({ ...rain(2), retain: true, topic: 'kept/g2/rain' })
  await acked(broker, 2)
  t.match(await found.rows('rain'), [{ gauge: 'g2' }])
  t.equal((await found.rows('rain')).length, 1)
  t.equal((await statusOf(found)).rejects, 0)
})

t.test(
  'messages: places come from the row of the device; an unknown device is rejected until it is known',
  async (t) => {
    const broker = await startFakeBroker(t)
    const sites = { data_name: 'sites', record_def: { id: { udt_name: 'text' } }, unique_columns: ['id'] }
    const map = { ...RAIN_MAP, position: { table: 'sites', key: 'id', column: 'gauge' } }
    const found = await world(t, broker, { tables: [RAIN, sites], maps: [map] })
    await subscribed(broker)
    broker.last().send(rain(1))
    await acked(broker, 1)
    t.same(await found.reasons(), ['position: found the device "g1", expected one of the table sites'])
    const site = (lon: number) => ({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [lon, 2] },
      properties: { id: 'g1' },
    })
    const put = (lon: number) =>
      found.test.call('loaderwebapi.add_record', {
        data_name: 'sites',
        record_set: [site(lon)],
        options: { if_exists: 'override' },
      })
    await put(1)
    broker.last().send(rain(2))
    await acked(broker, 2)
    await put(5)
    broker.last().send(rain(3))
    await acked(broker, 3)
    t.same(
      (await found.rows('rain')).map(({ at }) => at),
      [
        { type: 'Point', coordinates: [1, 2] },
        { type: 'Point', coordinates: [5, 2] },
      ],
    )
  },
)

t.test('messages: a preset fills the columns that have the names of its values', async (t) => {
  const broker = await startFakeBroker(t)
  const table = {
    data_name: 'lora',
    record_def: {
      device: { udt_name: 'text' },
      message_key: { udt_name: 'text' },
      rain_mm: { udt_name: 'float8' },
      f_cnt: { udt_name: 'int4' },
      app: { udt_name: 'text', is_nullable: true },
      all: { udt_name: 'text' },
    },
    unique_columns: ['message_key'],
  }
  const columns = { app: 'message.deviceInfo.applicationName', all: 'values' }
  const map = {
    filter: 'application/+/device/+/event/up',
    table: 'lora',
    preset: 'chirpstack',
    columns,
    time: { durationS: 60 },
  }
  const found = await world(t, broker, { tables: [table], maps: [map] })
  await subscribed(broker)
  const event = {
    deduplicationId: 'k1',
    time: '2025-01-01T00:00:00Z',
    deviceInfo: { devEui: '00aa', applicationName: 'rain' },
    fCnt: 3,
    object: { rain: { mm: 2.5 } },
  }
  const topic = 'application/1/device/00aa/event/up'
  for (const id of [1, 2]) broker.last().send({ ...rain(id, event), topic })
  await acked(broker, 2)
  t.match(await found.rows('lora'), [
    {
      ...{ device: '00aa', message_key: 'k1', rain_mm: 2.5, f_cnt: 3, app: 'rain', at: null },
      start_datetime: '2025-01-01T09:00:00+09:00',
      end_datetime: '2025-01-01T09:01:00+09:00',
      all: /"rain_mm":2.5/,
    },
  ])
})

t.test(
  'messages: a map whose table is missing, or lacks a column, waits for it without holding up others',
  async (t) => {
    const broker = await startFakeBroker(t)
    const later = { ...RAIN, data_name: 'later' }
    const maps = [
      RAIN_MAP,
      { ...RAIN_MAP, filter: 'later/+/x', table: 'later' },
      { ...RAIN_MAP, filter: 'no/+', columns: { cm: 'mm' } },
    ]
    const found = await world(t, broker, { maps })
    await subscribed(broker)
    t.same((await statusOf(found)).faults, [
      'the map of later/+/x waits for the table later, which does not exist',
      'the map of no/+ names the column cm, which the table rain does not have',
    ])
    const filters = () =>
      broker
        .last()
        .packets.flatMap((packet) =>
          packet.cmd === 'subscribe' ? packet.subscriptions.map(({ topic }) => topic) : [],
        )
    t.same(filters(), ['farm/+/rain'])
    await found.test.call('loaderwebapi.register_loader', later)
    await until(() => filters().includes('later/+/x'))
    broker.last().send({ ...rain(1), topic: 'later/g1/x' })
    await acked(broker, 1)
    t.equal((await found.rows('later')).length, 1)
    await found.test.call('loaderwebapi.drop_loader', { data_name: 'later' })
    await until(() => broker.log.includes('unsubscribe'))
    broker.last().send({ ...rain(2), topic: 'later/g1/x' })
    await acked(broker, 2)
    t.same(await found.reasons(), ['no table has the name "later"'])
  },
)

t.test('messages: a key that nothing fills, and one of the time of arrival, are told', async (t) => {
  const broker = await startFakeBroker(t)
  const maps = [
    { ...RAIN_MAP, filter: 'a/+', topicColumns: {} },
    { ...RAIN_MAP, filter: 'b/+', time: {} },
    { ...RAIN_MAP, columns: { gauge: 'id' }, topicColumns: {} },
  ]
  const found = await world(t, broker, { maps })
  await subscribed(broker)
  const { faults, warnings } = await statusOf(found)
  t.same(faults, ['the map of a/+ does not fill gauge, which is part of the key of the table rain'])
  t.same(warnings, [
    'the map of b/+: start_datetime is the time of arrival and part of the key, so that a message that comes again is there twice',
  ])
  broker.last().send(rain(1, { id: null, t: 1_735_700_001 }))
  await acked(broker, 1)
  t.same(await found.reasons(), [
    'gauge: found nothing, expected a value, because the column is part of the key',
  ])
})

t.test(
  'publish: changes of a table, from the start of the rule on, and after a restart where it was',
  async (t) => {
    const broker = await startFakeBroker(t, {
      onPacket: (packet, side) =>
        packet.cmd === 'publish' && side.send({ cmd: 'puback', messageId: packet.messageId ?? 0 }),
    })
    const rule = {
      table: 'rain',
      topic: 'out/{gauge}/{mm}',
      columns: ['mm'],
      conds: { '>': ['mm', 2] },
      retain: true,
    }
    const first = await world(t, broker, { maps: [], publish: [rule] })
    const put = (gauge: string, mm: number) =>
      first.test.call('loaderwebapi.add_record', {
        data_name: 'rain',
        record_set: [
          {
            type: 'Feature',
            geometry: null,
            properties: { gauge, mm, start_datetime: '2025-01-01T00:00:00Z' },
          },
        ],
      })
    const sent = () =>
      broker.sides.flatMap(({ packets }) =>
        packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet] : [])),
      )
    await until(() => broker.log.includes('connect'))
    await until(() => first.ingest !== undefined && broker.log.length > 0)
    while ((await first.state.ingest.cursor('test rain out/{gauge}/{mm}')) === undefined)
      await new Promise((resolve) => setTimeout(resolve, 5))
    await put('a/+', 5)
    await put('dry', 1)
    await put('b', 7)
    await until(() => sent().length === 2)
    t.same(
      sent().map(({ topic, payload, retain, qos }) => [topic, JSON.parse(String(payload)), retain, qos]),
      [
        ['out/a__/5', { type: 'Feature', geometry: null, properties: { mm: 5 } }, true, 1],
        ['out/b/7', { type: 'Feature', geometry: null, properties: { mm: 7 } }, true, 1],
      ],
    )
    // what was not acknowledged when it stops is sent again
    while ((await statusOf(first)).unpublished !== 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await first.ingest.stop()
    await put('c', 9)
    const { test, state } = first
    const second = await world(t, broker, { maps: [], publish: [rule], test, state, tables: [] })
    await until(() => sent().length === 3)
    t.equal(sent().at(-1)?.topic, 'out/c/9')
    await state.ingest.addToOutbox(
      'test',
      { topic: 'answer', payload: Buffer.from('x'), qos: 0, isRetained: false },
      10,
    )
    second.ingest.wake()
    await until(() => sent().length === 4)
    await until(() => broker.log.length > 0)
    t.equal(sent().at(-1)?.topic, 'answer')
    t.match(await statusOf(second), { unpublished: 0 })
  },
)
