import { PbfWriter } from 'pbf'
import t from 'tap'
import { levelsOf } from '../../../src/ingest/mapping/topics.js'
import { createPreset, type PresetName } from '../../../src/ingest/presets/presets.js'
import type { Reading } from '../../../src/ingest/presets/reading.js'
import { decodeSparkplug } from '../../../src/ingest/presets/sparkplug-payload.js'

/** Reads messages by one preset, which keeps what earlier ones said. */
function reader(name: PresetName) {
  const preset = createPreset(name)
  return (topic: string, payload: unknown) => {
    const bytes = payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload))
    const found = preset({ levels: levelsOf(topic), payload: bytes })
    if (found === null || 'misfit' in found) return found
    return found.map(({ values, message: _message, ...rest }: Reading) => ({
      ...rest,
      values: Object.fromEntries(values),
    }))
  }
}

t.test('chirpstack: an uplink with and without a codec', async (t) => {
  const read = reader('chirpstack')
  const topic = 'application/6a/device/0004a30b001c2b3d/event/up'
  const event = {
    deduplicationId: 'd2c5ad1e-5e6b-4f43-9a46-8e2a3e0f1f11',
    time: '2026-11-23T09:00:00.123456+00:00',
    deviceInfo: { tenantId: 't', applicationName: 'rain', deviceName: 'gauge 1', devEui: '0004a30b001c2b3d' },
    devAddr: '01a2b3c4',
    adr: true,
    dr: 5,
    fCnt: 42,
    fPort: 2,
    confirmed: false,
    data: 'AWcA4Q==',
    object: { rain: { mm: 1.5 }, battery: 3.6 },
    rxInfo: [
      { gatewayId: 'g1', rssi: -110, snr: -2, location: { latitude: 41.1, longitude: -8.6 } },
      { gatewayId: 'g2', rssi: -80, snr: 9 },
    ],
  }
  t.same(read(topic, event), [
    {
      device: '0004a30b001c2b3d',
      key: 'd2c5ad1e-5e6b-4f43-9a46-8e2a3e0f1f11',
      time: '2026-11-23T09:00:00.123456+00:00',
      values: {
        ...{ device_name: 'gauge 1', data: 'AWcA4Q==', f_port: 2, f_cnt: 42, rssi: -80, snr: 9 },
        ...{ rain_mm: 1.5, battery: 3.6 },
      },
    },
  ])
  const { object: _object, ...raw } = event
  t.match(read(topic, raw), [{ values: { data: 'AWcA4Q==', f_port: 2 } }])
  t.equal(read(topic.replace('/up', '/join'), event), null)
  t.match(read(topic, { time: 'x' }), { misfit: /no deviceInfo.devEui/ })
  t.match(read(topic, Buffer.from('{')), { misfit: /expected JSON/ })
})

t.test('thingsStack: an uplink; fields that are 0 are left out there', async (t) => {
  const read = reader('thingsStack')
  const topic = 'v3/rain@ttn/devices/gauge-1/up'
  const uplink = {
    end_device_ids: {
      device_id: 'gauge-1',
      application_ids: { application_id: 'rain' },
      dev_eui: '0004A30B001C2B3D',
    },
    correlation_ids: ['as:up:01'],
    received_at: '2026-11-23T09:00:00.123456789Z',
    uplink_message: {
      ...{ session_key_id: 'AXA50sGdeQ==', f_port: 1, f_cnt: 7, frm_payload: 'AWcA4Q==' },
      decoded_payload: { temperature: 22.5, nested: { on: true } },
      rx_metadata: [{ gateway_ids: { gateway_id: 'g' }, rssi: -35, snr: 5.2 }],
      received_at: '2026-11-23T08:59:59Z',
    },
  }
  t.same(read(topic, uplink), [
    {
      device: '0004A30B001C2B3D',
      key: '0004A30B001C2B3D/AXA50sGdeQ==/7',
      time: '2026-11-23T09:00:00.123456789Z',
      values: {
        ...{ device_name: 'gauge-1', data: 'AWcA4Q==', f_port: 1, f_cnt: 7, rssi: -35, snr: 5.2 },
        ...{ temperature: 22.5, nested_on: true },
      },
    },
  ])
  const { f_cnt: _cnt, f_port: _port, ...first } = uplink.uplink_message
  t.match(read(topic, { ...uplink, uplink_message: first }), [
    { key: '0004A30B001C2B3D/AXA50sGdeQ==/0', values: { f_cnt: 0, f_port: 0 } },
  ])
  t.match(read(topic, { ...uplink, uplink_message: undefined }), [{ key: null }])
  t.equal(read(topic.replace('/up', '/join'), uplink), null)
  t.match(read(topic, {}), { misfit: /no end_device_ids/ })
})

t.test('zigbee2mqtt: the device is the topic, also with slashes; Tasmota beside it', async (t) => {
  const read = reader('zigbee2mqtt')
  t.same(
    read('zigbee2mqtt/yard/rain', {
      rain: 1.5,
      linkquality: 99,
      update: { state: 'idle' },
      last_seen: '2026-11-23T09:00:00Z',
    }),
    [
      {
        device: 'yard/rain',
        key: null,
        time: '2026-11-23T09:00:00Z',
        values: { rain: 1.5, linkquality: 99, update_state: 'idle', last_seen: '2026-11-23T09:00:00Z' },
      },
    ],
  )
  t.match(read('tele/plug/SENSOR', { Time: '2026-11-23T10:00:00', ENERGY: { Power: 12 } }), [
    { device: 'plug', time: '2026-11-23T10:00:00', values: { ENERGY_Power: 12 } },
  ])
  t.match(read('zigbee2mqtt/lamp', { state: 'ON' }), [{ time: null }])
  for (const topic of [
    'zigbee2mqtt/bridge/state',
    'zigbee2mqtt/lamp/availability',
    'zigbee2mqtt/lamp/set',
    'tele/plug/LWT',
  ])
    t.equal(read(topic, { state: 'online' }), null, topic)
  t.match(read('zigbee2mqtt', {}), { misfit: /no device/ })
  t.match(read('zigbee2mqtt/lamp', [1]), { misfit: /no object/ })
})

interface SentMetric {
  name?: string
  alias?: number
  timestamp?: number
  datatype?: number
  isNull?: boolean
  int?: number
  long?: number
  float?: number
  double?: number
  bool?: boolean
  text?: string
  bytes?: Uint8Array
}

/** Encodes a payload as sparkplug_b.proto has it. */
function sparkplug(timestamp: number | undefined, seq: number, metrics: readonly SentMetric[]): Uint8Array {
  const pbf = new PbfWriter()
  if (timestamp !== undefined) pbf.writeVarintField(1, timestamp)
  for (const one of metrics)
    pbf.writeMessage(
      2,
      (metric: SentMetric, out: PbfWriter) => {
        if (metric.name !== undefined) out.writeStringField(1, metric.name)
        if (metric.alias !== undefined) out.writeVarintField(2, metric.alias)
        if (metric.timestamp !== undefined) out.writeVarintField(3, metric.timestamp)
        if (metric.datatype !== undefined) out.writeVarintField(4, metric.datatype)
        if (metric.isNull === true) out.writeBooleanField(7, true)
        if (metric.int !== undefined) out.writeVarintField(10, metric.int)
        if (metric.long !== undefined) out.writeVarintField(11, metric.long)
        if (metric.float !== undefined) out.writeFloatField(12, metric.float)
        if (metric.double !== undefined) out.writeDoubleField(13, metric.double)
        if (metric.bool !== undefined) out.writeBooleanField(14, metric.bool)
        if (metric.text !== undefined) out.writeStringField(15, metric.text)
        if (metric.bytes !== undefined) out.writeBytesField(16, metric.bytes)
      },
      one,
    )
  pbf.writeVarintField(3, seq)
  return pbf.finish()
}

const BIRTH = sparkplug(1_795_426_610_000, 0, [
  { name: 'Level', alias: 0, datatype: 3, int: 2 ** 32 - 5 },
  { name: 'Small', alias: 1, datatype: 1, int: 0xfb },
  { name: 'Total', alias: 2, datatype: 8, long: -1 },
  { name: 'Balance', alias: 3, datatype: 4, long: -7 },
  { name: 'Rain/mm', alias: 4, datatype: 10, double: 1.5 },
  { name: 'Ratio', datatype: 9, float: 0.5 },
  { name: 'On', alias: 5, datatype: 11, bool: true },
  { name: 'Note', datatype: 12, text: 'dry' },
  { name: 'Raw', datatype: 17, bytes: new Uint8Array([1, 2]) },
  { name: 'Gone', datatype: 10, isNull: true },
])

t.test('sparkplugB: a BIRTH, with every type; signed numbers are two’s complement', async (t) => {
  const read = reader('sparkplugB')
  t.same(read('spBv1.0/plant/DBIRTH/edge/pump', BIRTH), [
    {
      device: 'plant/edge/pump',
      key: null,
      time: 1_795_426_610_000,
      values: {
        ...{ Level: -5, Small: -5, Total: '18446744073709551615', Balance: -7, 'Rain/mm': 1.5, Ratio: 0.5 },
        ...{ On: true, Note: 'dry', Raw: 'AQI=', Gone: null },
      },
    },
  ])
})

t.test('sparkplugB: aliases of the last BIRTH of the device, one reading for each time', async (t) => {
  const read = reader('sparkplugB')
  const data = sparkplug(1_795_426_620_000, 1, [
    { alias: 0, int: 2 ** 32 - 6 },
    { alias: 4, timestamp: 1_795_426_615_000, double: 2.5 },
  ])
  t.match(read('spBv1.0/plant/DDATA/edge/pump', data), {
    misfit: /found the alias 0, expected one that a BIRTH/,
  })
  read('spBv1.0/plant/DBIRTH/edge/pump', BIRTH)
  t.match(read('spBv1.0/plant/DDATA/edge/pump', data), [
    { device: 'plant/edge/pump', time: 1_795_426_620_000, values: { Level: -6 } },
    { time: 1_795_426_615_000, values: { 'Rain/mm': 2.5 } },
  ])
  t.match(read('spBv1.0/plant/DDATA/edge/fan', data), { misfit: /alias/ }, 'another device')
  t.match(read('spBv1.0/plant/NDATA/edge', data), { misfit: /alias/ }, 'the node itself')
  t.match(read('spBv1.0/plant/NBIRTH/edge', sparkplug(undefined, 0, [{ name: 'x', int: 1 }])), [
    { time: null },
  ])
  for (const type of ['NDEATH', 'DDEATH', 'NCMD', 'DCMD'])
    t.equal(read(`spBv1.0/plant/${type}/edge/pump`, BIRTH), null, type)
  t.equal(read('spBv1.0/STATE/host', Buffer.from('{}')), null)
})

t.test('sparkplugB: what is no such payload is refused', async (t) => {
  const read = reader('sparkplugB')
  const topic = 'spBv1.0/plant/DBIRTH/edge/pump'
  for (const bytes of [
    Buffer.from('{"a":1}'),
    Buffer.from([0x12, 0xff]),
    BIRTH.subarray(0, 40),
    Buffer.from([0x08]),
  ])
    t.match(read(topic, bytes), { misfit: /no Sparkplug B/ }, bytes.toString('hex'))
  t.throws(() => decodeSparkplug(Buffer.from([0x0a, 0])), /wire type/)
  t.throws(() => decodeSparkplug(Buffer.from([0x08, ...Array<number>(11).fill(0x80), 1])), /10 bytes/)
  t.same(decodeSparkplug(Buffer.alloc(0)), { metrics: [] })
})
