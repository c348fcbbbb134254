import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readlinkSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import path from 'node:path'
import { loadConfig } from '../../src/config/config.js'
import { type Buses, startBuses } from '../../src/ingest/modbus/buses.js'
import type { OpenLink } from '../../src/ingest/modbus/connection.js'
import { openLink } from '../../src/ingest/modbus/link.js'
import { SYSTEM_TIMERS, type Timers } from '../../src/ingest/mqtt/timers.js'
import { createKeyring } from '../../src/storage/keyring.js'
import type { Loader } from '../../src/tables/loader.js'
import { openTestLoader, type TestLoader } from './loader.js'
import { type MemoryState, memoryState } from './memory-state.js'
import { readerOf, rowsOf } from './mqtt-world.js'
import { NOW_US } from './tables.js'

type TestLike = { testdir(): string; teardown(work: () => unknown): unknown }

/** Buses, their tables and rejects, without a gateway around them. */
export interface ModbusWorld {
  readonly test: TestLoader
  readonly state: MemoryState
  readonly buses: Buses
  readonly logLines: { readonly level: string; readonly message: string; readonly fields: object }[]
  /** rows of the table `pumps`: properties, with the geometry as `at` */
  rows(): Promise<Record<string, unknown>[]>
}

interface WorldOptions {
  /** settings of the bus besides its name */
  readonly bus: Record<string, unknown>
  /** settings `ingest.modbus` besides the buses */
  readonly modbus?: Record<string, unknown>
  /** tables to register first: calls of `register_loader` */
  readonly tables?: readonly Record<string, unknown>[]
  wrap?(loader: Loader): Pick<Loader, 'add'>
  readonly openLink?: OpenLink
  readonly timers?: Timers
  /** wall clock, µs; absent: that of the system, from the time of the test tables on */
  nowUs?(): number
  readonly state?: MemoryState
  readonly test?: TestLoader
}

/** The table that most tests fill. */
export const PUMPS = {
  data_name: 'pumps',
  record_def: {
    pump: { udt_name: 'varchar', length: 20 },
    celsius: { udt_name: 'float8', is_nullable: true },
    runs: { udt_name: 'bool', is_nullable: true },
  },
  unique_columns: ['pump', 'start_datetime'],
}

/** Starts to read the devices of one bus; it ends with the test. */
export async function startModbusWorld(t: TestLike, options: WorldOptions): Promise<ModbusWorld> {
  const state = options.state ?? (await memoryState(t))
  const test = options.test ?? openTestLoader(t)
  for (const table of options.tables ?? [PUMPS]) await test.call('loaderwebapi.register_loader', table)
  const loaded = loadConfig(null, {}, {
    ingest: { modbus: { ...options.modbus, buses: [{ name: 'test', ...options.bus }] } },
  } as never)
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const logLines: { level: string; message: string; fields: object }[] = []
  const log = (level: string) => (fields: object, message: string) =>
    logLines.push({ level, message, fields })
  const tables = readerOf(test, createKeyring(new Uint8Array(32).fill(9))) // that of the test loader
  const startMs = performance.now()
  const nowUs = () => Number(NOW_US) + Math.round((performance.now() - startMs) * 1000)
  const buses = await startBuses({
    settings: loaded.config.ingest,
    loader: options.wrap?.(test.loader) ?? test.loader,
    tables,
    store: state.ingest,
    arrival: () => ({ nowUs: options.nowUs?.() ?? nowUs() }),
    openLink: options.openLink ?? openLink,
    timers: options.timers ?? SYSTEM_TIMERS,
    log: { error: log('error'), warn: log('warn'), info: log('info') } as never,
  })
  t.teardown(() => buses.stop())
  return { test, state, buses, logLines, rows: () => rowsOf(test, tables, 'pumps') }
}

/** Why tests of pymodbus are left out; false where it is installed. */
export function withoutPymodbus(): string | false {
  if (!existsSync('/usr/bin/python3')) return 'skipped: /usr/bin/python3 is not installed'
  const { status } = spawnSync('/usr/bin/python3', ['-c', 'import pymodbus.server'], { stdio: 'ignore' })
  if (status !== 0) return 'skipped: python3-pymodbus with python3-serial-asyncio is not installed'
  const { error } = spawnSync('socat', ['-V'], { stdio: 'ignore' })
  return error === undefined ? false : 'skipped: socat is not installed'
}

const DEVICE = path.join(import.meta.dirname, 'modbus-device.py')

/** Starts a device by pymodbus at its unit 17. @returns the url of its bus */
export async function startPymodbus(t: TestLike, kind: 'tcp' | 'rtu-tcp' | 'rtu'): Promise<string> {
  if (kind === 'rtu') {
    const [ours, theirs] = await startSerialLine(t)
    await startDevice(t, kind, theirs)
    return `rtu://${ours}`
  }
  const port = await freePort()
  await startDevice(t, kind, String(port))
  await untilListening(port)
  return kind === 'tcp' ? `tcp://127.0.0.1:${port}` : `rtu+tcp://127.0.0.1:${port}`
}

async function startDevice(t: TestLike, kind: string, where: string): Promise<void> {
  const child = spawn('/usr/bin/python3', ['-u', DEVICE, kind, where], { stdio: ['ignore', 'pipe', 'pipe'] })
  endWith(t, child)
  child.stderr.resume()
  await once(child.stdout, 'data')
}

/** Starts two terminals that are the ends of a serial line. @returns their paths */
async function startSerialLine(t: TestLike): Promise<[string, string]> {
  const dir = t.testdir()
  const ends = ['ours', 'theirs'].map((name) => path.join(dir, name))
  const child = spawn(
    'socat',
    ends.map((end) => `pty,raw,echo=0,link=${end}`),
    { stdio: 'ignore' },
  )
  endWith(t, child)
  while (!ends.every((end) => existsSync(end))) await new Promise((resolve) => setTimeout(resolve, 5))
  return ends.map((end) => readlinkSync(end)) as [string, string]
}

function endWith(t: TestLike, child: ChildProcess): void {
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function untilListening(port: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    const socket = connect({ host: '127.0.0.1', port })
    try {
      await once(socket, 'connect')
      socket.destroy()
      return
    } catch (error) {
      if (tries > 400) throw error
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
}
