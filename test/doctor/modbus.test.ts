import Database from 'better-sqlite3'
import t from 'tap'
import { loadConfig } from '../../src/config/config.js'
import type { CheckContext } from '../../src/doctor/finding.js'
import { checkModbus } from '../../src/doctor/modbus.js'
import type { BusStatus } from '../../src/storage/ingest.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { readBuses } from '../../src/storage/sqlite/maintenance/broker-facts.js'
import { openState } from '../../src/storage/sqlite/state.js'

const NOW_US = Date.UTC(2026, 0, 1) * 1000
const STATUS: BusStatus = {
  ...{ isConnected: true, sinceUs: NOW_US, lastError: null, faults: [], warnings: [], readings: 9 },
  ...{ failures: 2, rows: 7, repeats: 0, rejects: 1, lost: 0, waiting: 3 },
}

t.test(
  'doctor: Modbus devices that do not answer, lines that cannot be opened, and many rejects',
  async (t) => {
    const state = await openState(':memory:', { keyring: createKeyring(new Uint8Array(32)) })
    t.teardown(() => state.close())
    const find = async (buses: readonly object[]) => {
      const loaded = loadConfig(null, {}, { ingest: { modbus: { buses } } } as never)
      if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
      const facts = { buses: async (_dir: string, sinceUs: number) => readBuses(state.stateDb.db, sinceUs) }
      const context = { config: loaded.config, layout: { root: '' }, maintenance: { facts }, nowUs: NOW_US }
      const findings = await checkModbus(context as unknown as CheckContext) // the parts that the check reads
      return findings.map(({ state: level, message }) => `${level}: ${message}`)
    }
    const earlier = new Database(':memory:')
    t.same(readBuses(earlier, 0), [], 'a database of an earlier schema')
    earlier.close()
    t.same(await find([]), ['ok: the settings name no Modbus bus'])
    const shed = { name: 'shed', url: 'tcp://shed.example' }
    t.same(await find([shed]), ['ok: 1 Modbus buses'], 'no gateway has run with it')
    t.same(await find([{ name: 'line', url: 'rtu:///dev/null' }]), ['ok: 1 Modbus buses'])
    t.match(await find([{ name: 'line', url: 'rtu:///dev/none' }]), [
      /^error: the serial line of the bus line cannot be used: ENOENT/,
    ])
    await state.ingest.noteBus('shed', { ...STATUS, faults: ['the device p1'], warnings: ['late'] }, NOW_US)
    t.same(await find([shed]), ['warning: the bus shed: the device p1', 'warning: the bus shed: late'])
    await state.ingest.noteBus('shed', STATUS, NOW_US)
    const reject = { atUs: NOW_US, broker: 'shed', topic: 'p1', reason: 'too high', payloadBytes: 0 }
    const rejects = Array.from({ length: 100 }, () => ({ ...reject, payload: new Uint8Array(0) }))
    await state.ingest.addRejects(rejects.slice(1), 1000)
    t.same(await find([shed]), ['ok: 1 Modbus buses'])
    await state.ingest.addRejects(rejects.slice(99), 1000)
    t.same(await find([shed]), [
      'warning: 100 readings or more of the bus shed were rejected within a day, the last one because: too high',
    ])
  },
)
