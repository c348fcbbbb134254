import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { AppError } from '../../../src/errors.js'
import type { BusLink } from '../../../src/ingest/modbus/link.js'
import { manualTimers, until } from '../../support/manual-timers.js'
import {
  type ModbusWorld,
  PUMPS,
  startModbusWorld,
  startPymodbus,
  withoutPymodbus,
} from '../../support/modbus-world.js'
import { NOW_US } from '../../support/tables.js'

const skip = withoutPymodbus()
const CELSIUS = { column: 'celsius', address: 0, scale: 0.1 }
const PUMP = { name: 'p1', unit: 17, everyS: 0.1, table: 'pumps', deviceColumn: 'pump', registers: [CELSIUS] }

const statusOf = ({ buses }: ModbusWorld) => {
  const status = buses.status().get('test')
  if (status === undefined) throw new Error('no status')
  return status
}
async function untilAsync(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 2000) throw new Error('it did not come true within 20 s')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

t.test('modbus: devices by pymodbus over TCP, RTU over TCP and a serial line', { skip }, async (t) => {
  const columns = {
    celsius: [{ udt_name: 'float8' }, { address: 0, scale: 0.1 }, 21.5],
    i16: [{ udt_name: 'int2' }, { address: 1, type: 'int16' }, -200],
    u32: [{ udt_name: 'int8' }, { address: 2, type: 'uint32' }, 4_000_000_000],
    f32: [{ udt_name: 'float4' }, { address: 4, type: 'float32' }, 21.3],
    low: [{ udt_name: 'float8' }, { address: 6, type: 'float32', order: 'CDAB' }, -7.25],
    u64: [{ udt_name: 'text' }, { address: 8, type: 'uint64' }, '9223372036854775809'],
    i64: [{ udt_name: 'int8' }, { address: 12, type: 'int64' }, -5],
    f64: [{ udt_name: 'float8' }, { address: 16, type: 'float64' }, 1 / 3],
    name: [{ udt_name: 'text' }, { address: 20, type: 'text', length: 4 }, 'Pümp'],
    none: [{ udt_name: 'float8', is_nullable: true }, { address: 24, none: [32_768] }, null],
    high: [{ udt_name: 'bool' }, { address: 25, bit: 10 }, true],
    nan: [{ udt_name: 'float8', is_nullable: true }, { address: 26, type: 'float32' }, null],
    coil: [{ udt_name: 'bool' }, { kind: 'coil', address: 3 }, true],
    input: [{ udt_name: 'bool' }, { kind: 'discrete', address: 9 }, true],
    third: [{ udt_name: 'int4' }, { kind: 'input', address: 2 }, 3],
    asText: [{ udt_name: 'varchar', length: 10 }, { address: 0 }, '215'],
  } as const
  const entries = Object.entries(columns)
  const table = {
    data_name: 'pumps',
    record_def: {
      ...Object.fromEntries(entries.map(([column, [type]]) => [column, type])),
      site: { udt_name: 'text' },
    },
    unique_columns: ['start_datetime'],
  }
  const device = {
    ...{ name: 'p1', unit: 17, everyS: 0.1, table: 'pumps', values: { site: 'north' }, durationS: 60 },
    position: { fixed: [10.5, 20.25] },
    registers: entries.map(([column, [, register]]) => ({ column, ...register })),
  }
  for (const kind of ['tcp', 'rtu-tcp', 'rtu'] as const)
    await t.test(kind, async (t) => {
      const url = await startPymodbus(t, kind)
      const world = await startModbusWorld(t, {
        tables: [table],
        bus: { url, parity: 'none', pauseMs: 1, timeoutMs: 3000, devices: [device] },
      })
      await untilAsync(async () => (await world.rows()).length >= 3)
      const [row] = await world.rows()
      const expected = Object.fromEntries(entries.map(([column, [, , value]]) => [column, value]))
      t.match(row, { ...expected, site: 'north', at: { type: 'Point', coordinates: [10.5, 20.25] } })
      const spanMs = Date.parse(String(row?.end_datetime)) - Date.parse(String(row?.start_datetime))
      t.equal(spanMs, 60_000)
      t.match(statusOf(world), {
        isConnected: true,
        faults: [],
        warnings: [],
        failures: 0,
        rejects: 0,
        lost: 0,
      })
      await world.buses.stop()
      const [noted] = await world.state.ingest.buses()
      t.equal(noted?.status.rows, (await world.rows()).length, 'the last status is noted')
    })
})

t.test(
  'modbus: a device that refuses, one that is not there, and a line that is none',
  { skip },
  async (t) => {
    const url = await startPymodbus(t, 'tcp')
    const world = await startModbusWorld(t, {
      bus: {
        ...{ url, timeoutMs: 100, retries: 0 },
        devices: [
          { ...PUMP, registers: [{ column: 'celsius', address: 5000 }] },
          { ...PUMP, name: 'p2', unit: 99 },
          { ...PUMP, name: 'p3' },
        ],
      },
    })
    await untilAsync(async () => (await world.rows()).length >= 2 && statusOf(world).failures >= 4)
    t.match(statusOf(world).faults, [
      /^the device p1 cannot be read: Modbus exception 2: Illegal data address/,
      'the device p2 cannot be read: found no answer within 100 ms',
    ])
    t.ok((await world.rows()).every(({ pump }) => pump === 'p3'))
    const told = world.logLines.filter(({ message }) => message === 'the device cannot be read')
    t.equal(told.length, 2, 'each is told once')
    await t.test('a serial line', async (t) => {
      const bus = { url: 'rtu:///dev/null', retries: 0, devices: [PUMP] }
      const none = await startModbusWorld(t, { bus })
      await until(() => statusOf(none).failures > 0)
      t.match(statusOf(none), {
        isConnected: false,
        lastError: /^the serial line cannot be set: stty: \/dev\/null/,
      })
    })
  },
)

/** Starts a server that answers each request of Modbus TCP as a test says. */
async function startServer(
  t: { teardown(work: () => unknown): unknown },
  answer: (socket: Socket, request: Buffer) => void,
) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (request) => answer(socket, request))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `tcp://127.0.0.1:${(server.address() as { port: number }).port}`, sockets }
}

/** Answer of Modbus TCP with registers. */
function registersAnswer(request: Buffer, data: Buffer): Buffer {
  const head = Buffer.from(request.subarray(0, 8))
  head.writeUInt16BE(3 + data.length, 4)
  return Buffer.concat([head, Buffer.from([data.length]), data])
}

t.test('modbus: answers that are cut, late, of another unit or length make no row', async (t) => {
  let turn = 0
  const faults: ((socket: Socket, request: Buffer) => void)[] = [
    (socket) => socket.destroy(),
    (socket, request) => socket.write(registersAnswer(request, Buffer.alloc(2)).subarray(0, 9)),
    (socket, request) => socket.write(registersAnswer(request, Buffer.alloc(8))),
    (socket, request) => {
      const answer = registersAnswer(request, Buffer.alloc(2))
      answer[6] = 99
      socket.write(answer)
    },
    (socket, request) => {
      const answer = registersAnswer(request, Buffer.from('1111', 'hex'))
      setTimeout(() => socket.destroyed || socket.write(answer), 150)
    },
    (socket) => socket.write(Buffer.alloc(2000, 0xff)),
  ]
  const { url } = await startServer(t, (socket, request) => {
    const fault = faults[turn++]
    if (fault !== undefined) fault(socket, request)
    else socket.write(registersAnswer(request, Buffer.from('00d7', 'hex')))
  })
  const world = await startModbusWorld(t, { bus: { url, timeoutMs: 100, retries: 0, devices: [PUMP] } })
  await untilAsync(async () => (await world.rows()).length >= 3)
  const rows = await world.rows()
  t.same([...new Set(rows.map(({ celsius }) => celsius))], [21.5])
  t.equal(statusOf(world).failures, faults.length)
  t.match(statusOf(world), { isConnected: true, faults: [] })
  t.ok(world.logLines.some(({ message }) => message === 'the device answers again'))
})

t.test('modbus: a reading that fails is tried again before the next one', async (t) => {
  let requests = 0
  const { url } = await startServer(t, (socket, request) => {
    if (requests++ % 2 === 0) socket.destroy()
    else socket.write(registersAnswer(request, Buffer.from('00d7', 'hex')))
  })
  const world = await startModbusWorld(t, { bus: { url, devices: [PUMP] } })
  await untilAsync(async () => (await world.rows()).length >= 3)
  t.equal(statusOf(world).failures, 0)
})

/** A link whose registers a test sets. */
function fakeLink() {
  const device = { celsius: 200, reads: 0, isOpen: true, opened: 0 }
  const link: BusLink = {
    async read(_unit, { count }) {
      device.reads++
      const data = Buffer.alloc(2 * count)
      data.writeUInt16BE(device.celsius)
      return data
    },
    isOpen: () => device.isOpen,
    close() {
      device.isOpen = false
    },
  }
  const openLink = async () => {
    device.opened++
    device.isOpen = true
    return link
  }
  return { device, openLink }
}

/** A world whose clock a test moves. */
async function startStill(
  t: Parameters<typeof startModbusWorld>[0],
  options: Partial<Parameters<typeof startModbusWorld>[1]> = {},
  device: object = {},
) {
  const timers = manualTimers()
  const { device: registers, openLink } = fakeLink()
  const clock = { aheadUs: 0 }
  const bus = { url: 'tcp://127.0.0.1', devices: [{ ...PUMP, everyS: 10, ...device }], ...options.bus }
  const nowUs = () => Number(NOW_US) + timers.nowMs() * 1000 + clock.aheadUs
  const world = await startModbusWorld(t, { ...options, bus, timers, openLink, nowUs })
  /** Moves the clock to the next reading, and waits for it. */
  const tick = async (celsius: number) => {
    const before = registers.reads
    registers.celsius = celsius
    while (registers.reads === before) {
      await until(() => timers.next() !== undefined, 'the bus waits')
      timers.advance((timers.next() ?? 0) - timers.nowMs())
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await until(() => timers.next() !== undefined && statusOf(world).waiting === 0, 'the row is stored')
  }
  return { ...world, timers, registers, clock, tick }
}

t.test(
  'modbus: with store changes, rows are those that differ by more than the deadband, and one now and then',
  async (t) => {
    const registers = [{ ...CELSIUS, deadband: 0.5 }]
    const world = await startStill(t, {}, { store: 'changes', maxQuietS: 60, registers })
    for (const celsius of [200, 202, 205, 206, 204, 202, 200]) await world.tick(celsius)
    t.same(
      (await world.rows()).map(({ celsius }) => celsius),
      [20, 20.6, 20],
      'compared with the last row, not with the last reading',
    )
    for (let count = 0; count < 7; count++) await world.tick(200)
    t.equal((await world.rows()).length, 4, 'a row after a minute without a change')
    t.equal(statusOf(world).readings, 14)
  },
)

t.test('modbus: readings begin at multiples of their time, also when the clock is set', async (t) => {
  const world = await startStill(t)
  await world.tick(200)
  const [first] = await world.rows()
  t.equal(Date.parse(String(first?.start_datetime)) % 10_000, 0)
  world.clock.aheadUs = -86_400_000_000
  await world.tick(201)
  t.ok((await world.rows()).length >= 2, 'set back by a day')
  world.clock.aheadUs = 86_400_000_000
  await world.tick(202)
  const last = (await world.rows()).at(-1)
  t.equal(Date.parse(String(last?.start_datetime)) % 10_000, 0, 'set ahead')
})

t.test('modbus: a table that does not exist yet, lacks the column or a key', async (t) => {
  const world = await startStill(t, { tables: [] })
  await until(() => world.timers.next() !== undefined)
  world.timers.advance(10_000)
  await until(() => statusOf(world).faults.length > 0)
  t.same(statusOf(world).faults, ['the device p1 waits for the table pumps, which does not exist'])
  t.equal(world.registers.reads, 0, 'it is not read in vain')
  await world.test.call('loaderwebapi.register_loader', {
    ...PUMPS,
    record_def: { pump: PUMPS.record_def.pump },
  })
  await until(() => world.timers.next() !== undefined)
  world.timers.advance(10_000)
  await until(() => /celsius/.test(statusOf(world).faults[0] ?? ''))
  t.same(statusOf(world).faults, [
    'the device p1 names the column celsius, which the table pumps does not have',
  ])
  const keyed = {
    ...PUMPS,
    record_def: { ...PUMPS.record_def, part: { udt_name: 'int4' } },
    unique_columns: ['pump', 'part', 'start_datetime'],
  }
  const other = await startStill(t, { tables: [keyed] })
  await until(() => other.timers.next() !== undefined)
  other.timers.advance(10_000)
  await until(() => statusOf(other).faults.length > 0)
  t.same(statusOf(other).faults, [
    'the device p1 does not fill part, which is part of the key of the table pumps',
  ])
})

t.test(
  'modbus: rows wait while none can be stored; the oldest give way; what does not fit is rejected',
  async (t) => {
    let isFull = true
    const world = await startStill(
      t,
      {
        modbus: { waitingRows: 3 },
        wrap: (loader) => ({
          add: async (...args) => {
            if (isFull) throw new AppError('DISK_FULL', {})
            return await loader.add(...args)
          },
        }),
      },
      {},
    )
    for (let at = 0; at < 5; at++) {
      const before = world.registers.reads
      world.registers.celsius = 200 + at
      await until(() => world.timers.next() !== undefined)
      while (world.registers.reads === before) {
        world.timers.advance(1000)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
    await until(() => statusOf(world).faults.length > 0)
    t.match(statusOf(world), { rows: 0, waiting: 3, lost: 2 })
    t.match(statusOf(world).faults, [/^readings cannot be stored: /])
    t.match(statusOf(world).warnings, ['2 rows were lost while none could be stored'])
    isFull = false
    await world.buses.stop()
    t.same(
      (await world.rows()).map(({ celsius }) => celsius),
      [20.2, 20.3, 20.4],
      'stored before the end',
    )
  },
)

t.test(
  'modbus: a value that does not fit its column, and a device without a place, are rejected',
  async (t) => {
    const narrow = { ...PUMPS, record_def: { ...PUMPS.record_def, celsius: { udt_name: 'int2' } } }
    const world = await startStill(
      t,
      { tables: [narrow] },
      { registers: [{ column: 'celsius', address: 0, scale: 1000 }] },
    )
    await world.tick(200)
    const [reject] = await world.state.ingest.listRejects(10)
    t.match(reject, { broker: 'test', topic: 'p1', reason: /celsius.*expected/s })
    t.match(Buffer.from(reject?.payload ?? []).toString(), /"celsius":200000/)
    t.match(statusOf(world), { rows: 0, rejects: 1, readings: 1 })
    await t.test('places of a table', async (t) => {
      const places = {
        data_name: 'places',
        record_def: { name: { udt_name: 'text' } },
        unique_columns: ['name'],
      }
      const world = await startStill(
        t,
        { tables: [PUMPS, places] },
        { position: { table: 'places', key: 'name' } },
      )
      await world.tick(200)
      t.match(
        (await world.state.ingest.listRejects(1))[0]?.reason,
        /found the device "p1", expected one of the table/,
      )
      await world.test.call('loaderwebapi.add_record', {
        data_name: 'places',
        record_set: [
          {
            type: 'Feature',
            geometry: { type: 'Point', coordinates: [1, 2] },
            properties: { name: 'p1', start_datetime: '2026-01-01T00:00:00Z' },
          },
        ],
      })
      await world.tick(201)
      t.match(await world.rows(), [{ celsius: 20.1, at: { coordinates: [1, 2] } }])
    })
  },
)

t.test('modbus: a bus that the settings name no more is forgotten', async (t) => {
  const world = await startStill(t)
  await world.tick(200)
  await world.buses.stop()
  await world.state.ingest.noteBus('gone', statusOf(world), 1)
  const again = await startStill(t, { state: world.state })
  t.same(
    (await again.state.ingest.buses()).map(({ name }) => name),
    ['test'],
  )
})
