import { loadConfig } from '../../src/config/config.js'
import { type Ingest, startIngest } from '../../src/ingest/ingest.js'
import { SYSTEM_TIMERS, type Timers } from '../../src/ingest/mqtt/timers.js'
import { createKeyring, type Keyring } from '../../src/storage/keyring.js'
import { printChanges } from '../../src/storage/records/print-changes.js'
import { createTableChanges } from '../../src/storage/sqlite/tables/changed-rows.js'
import { openTables } from '../../src/storage/sqlite/tables/store.js'
import type { TableReader } from '../../src/storage/tables.js'
import type { Loader } from '../../src/tables/loader.js'
import { openTestLoader, type TestLoader } from './loader.js'
import { type MemoryState, memoryState } from './memory-state.js'
import { NOW_US, TIME_ZONE_MIN } from './tables.js'

/** Tables, rejects and brokers, without a gateway around them. */
export interface MqttWorld {
  readonly test: TestLoader
  readonly state: MemoryState
  readonly ingest: Ingest
  readonly logLines: { readonly level: string; readonly message: string; readonly fields: object }[]
  /** rows of a table: properties, with the geometry as `at` */
  rows(table: string): Promise<Record<string, unknown>[]>
  /** reasons of the rejects, the oldest first */
  reasons(): Promise<string[]>
}

interface WorldOptions {
  /** settings of a broker besides its name */
  readonly broker: Record<string, unknown>
  /** settings `ingest.mqtt` besides the brokers */
  readonly mqtt?: Record<string, unknown>
  /** tables to register first: calls of `register_loader` */
  readonly tables?: readonly Record<string, unknown>[]
  /** stands between the ingest and the loader */
  wrap?(loader: Loader): Pick<Loader, 'add'>
  readonly timers?: Timers
  /** wall clock, µs; absent: it stands still */
  nowUs?(): number
  readonly state?: MemoryState
  readonly test?: TestLoader
}

type TestLike = { testdir(): string; teardown(work: () => unknown): unknown }

/** The table that most tests fill. */
export const RAIN = {
  data_name: 'rain',
  record_def: {
    gauge: { udt_name: 'varchar', length: 20 },
    mm: { udt_name: 'float8', is_nullable: true },
    note: { udt_name: 'text', is_nullable: true },
  },
  unique_columns: ['gauge', 'start_datetime'],
}

/** Starts the ingest of one broker; it ends with the test. */
export async function startMqttWorld(t: TestLike, options: WorldOptions): Promise<MqttWorld> {
  const state = options.state ?? (await memoryState(t))
  const test = options.test ?? openTestLoader(t)
  for (const table of options.tables ?? []) await test.call('loaderwebapi.register_loader', table)
  const loaded = loadConfig(null, {}, {
    ingest: { mqtt: { ...options.mqtt, brokers: [{ name: 'test', ...options.broker }] } },
  } as never)
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const logLines: { level: string; message: string; fields: object }[] = []
  const log = (level: string) => (fields: object, message: string) =>
    logLines.push({ level, message, fields })
  const keyring = createKeyring(new Uint8Array(32).fill(9)) // that of the test loader
  const printing = {
    env: { timeZoneMin: TIME_ZONE_MIN, nowUs: BigInt(NOW_US) },
    options: { keyring, readFile: () => Promise.reject(new Error('no files here')) },
  }
  const tables = readerOf(test, keyring)
  const ingest = await startIngest({
    settings: loaded.config.ingest,
    loader: options.wrap?.(test.loader) ?? test.loader,
    tables,
    changes: createTableChanges(test.data.reader),
    print: (table, rows, columns) => printChanges(table, rows, columns, printing),
    store: state.ingest,
    nodeId: '0123456789abcdef0123456789abcdef',
    arrival: () => ({
      nowUs: options.nowUs?.() ?? Number(NOW_US),
      isClockTrusted: true,
      timeZoneMin: TIME_ZONE_MIN,
    }),
    watchWrites: (listener) => test.data.lock.watch(listener),
    timers: options.timers ?? SYSTEM_TIMERS,
    random: () => 0.01,
    log: { error: log('error'), warn: log('warn'), info: log('info') } as never,
  })
  t.teardown(() => ingest.stop())
  return {
    ...{ test, state, ingest, logLines },
    rows: (name) => rowsOf(test, tables, name),
    reasons: async () => (await state.ingest.listRejects(1000)).map(({ reason }) => reason).reverse(),
  }
}

/** Returns the rows of a table: properties, with the geometry as `at`. */
export async function rowsOf({ loader }: TestLoader, tables: TableReader, name: string) {
  const table = await loader.find(name)
  const found: Record<string, unknown>[] = []
  for await (const page of tables.pages(table, {}))
    found.push(...page.map(({ geometry, properties }) => ({ ...properties, at: geometry })))
  return found
}

/** Reader of the tables of a test. */
export function readerOf({ data }: TestLoader, keyring: Keyring): TableReader {
  const reading = {
    timeZoneMin: TIME_ZONE_MIN,
    pageRows: 100,
    keyring,
    readFile: () => Promise.reject(new Error('no files here')),
    nowUs: () => Number(NOW_US),
  }
  return openTables(data, reading).reader
}
