import t from 'tap'
import { loadConfig } from '../../../src/config/config.js'
import type { RegisterSettings } from '../../../src/config/modbus.js'
import { blocksOf, differs, registerValue } from '../../../src/ingest/modbus/registers.js'

const bus = (registers: readonly object[], device: object = {}, rest: object = {}) =>
  loadConfig(null, {}, {
    ingest: {
      modbus: {
        buses: [
          { name: 'b', url: 'tcp://h', devices: [{ name: 'd', table: 't', registers, ...device }], ...rest },
        ],
      },
    },
  } as never)

/** Registers as the settings complete them. */
function registersOf(...given: readonly object[]): RegisterSettings[] {
  const loaded = bus(given.map((one) => ({ column: 'c', address: 0, ...one })))
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  return [...(loaded.config.ingest.modbus.buses[0]?.devices[0]?.registers ?? [])]
}

function decoded(register: object, hex: string): unknown {
  const [found] = registersOf(register)
  const [block] = blocksOf(found === undefined ? [] : [found], 0)
  if (found === undefined || block === undefined) throw new Error('no block')
  return registerValue(found, block, Buffer.from(hex, 'hex'))
}

t.test('registers: values of each type, and orders of their bytes', async (t) => {
  const cases: readonly [object, string, unknown][] = [
    [{}, 'ff38', 65_336],
    [{ type: 'int16' }, 'ff38', -200],
    [{ type: 'int16', order: 'BADC' }, '38ff', -200],
    [{ type: 'uint32' }, 'ee6b2800', 4_000_000_000],
    [{ type: 'uint32', order: 'CDAB' }, '2800ee6b', 4_000_000_000],
    [{ type: 'uint32', order: 'BADC' }, '6bee0028', 4_000_000_000],
    [{ type: 'uint32', order: 'DCBA' }, '00286bee', 4_000_000_000],
    [{ type: 'int32' }, 'ffffffff', -1],
    [{ type: 'uint64' }, '8000000000000001', '9223372036854775809'],
    [{ type: 'int64' }, 'fffffffffffffffb', -5],
    [{ type: 'float32' }, '41aa6666', 21.3],
    [{ type: 'float32', order: 'CDAB' }, '0000c0e8', -7.25],
    [{ type: 'float32' }, '7fc00000', null],
    [{ type: 'float32' }, '7f800000', null],
    [{ type: 'float32' }, '3eaaaaab', 0.33333334],
    [{ type: 'float64' }, '3fd5555555555555', 1 / 3],
    [{ type: 'text', length: 4 }, '50c3bc6d70000041', 'Pümp'],
    [{ type: 'text', length: 2 }, '41202020', 'A'],
    [{ type: 'text', length: 1 }, '0000', null],
    [{ bit: 0 }, '0401', true],
    [{ bit: 10 }, '0401', true],
    [{ bit: 1 }, '0401', false],
    [{ none: [32_768] }, '8000', null],
    [{ type: 'int16', none: [-32_768] }, '8000', null],
    [{ scale: 0.1 }, '0003', 0.3],
    [{ scale: 0.1, offset: -40 }, '00d7', -18.5],
    [{ kind: 'coil' }, '01', true],
    [{ kind: 'discrete', address: 9 }, '00', false],
  ]
  for (const [register, hex, expected] of cases)
    t.equal(decoded(register, hex), expected, `${JSON.stringify(register)} of ${hex}`)
})

t.test('registers: neighbours are read together, as far as one request goes', async (t) => {
  const shown = (registers: readonly RegisterSettings[], gap: number) =>
    blocksOf(registers, gap).map(({ kind, address, count }) => `${kind} ${address}+${count}`)
  const near = registersOf({ address: 4 }, { address: 0, type: 'uint32' }, { address: 2 }, { kind: 'input' })
  t.same(shown(near, 0), ['holding 0+3', 'holding 4+1', 'input 0+1'])
  t.same(shown(near, 1), ['holding 0+5', 'input 0+1'])
  const same = registersOf({ address: 7, bit: 1 }, { address: 7, bit: 2 }, { address: 6, type: 'uint64' })
  t.same(shown(same, 0), ['holding 6+4'], 'one inside another')
  const many = registersOf(...Array.from({ length: 300 }, (_, address) => ({ address })))
  t.same(shown(many, 0), ['holding 0+125', 'holding 125+125', 'holding 250+50'])
  const coils = registersOf({ kind: 'coil', address: 3 }, { kind: 'coil', address: 12 })
  t.same(shown(coils, 8), ['coil 3+10'])
  const [block] = blocksOf(coils, 8)
  if (block === undefined) throw new Error('no block')
  const values = coils.map((coil) => registerValue(coil, block, Buffer.from([0b1, 0b10])))
  t.same(values, [true, true])
})

t.test('registers: changes within the deadband are none', async (t) => {
  t.equal(differs(20.1, 20, 0.2), false)
  t.equal(differs(20.3, 20, 0.2), true)
  t.equal(differs(1, 1, 0), false)
  t.equal(differs(true, false, 5), true)
  t.equal(differs(null, 20, 5), true)
  t.equal(differs('A', 'A', 0), false)
})

t.test('registers: settings that fit no register are refused, with what was expected', async (t) => {
  const faultsOf = (loaded: ReturnType<typeof bus>) =>
    'faults' in loaded ? JSON.stringify(loaded.faults) : 'none'
  const one = { column: 'c', address: 0 }
  const cases: readonly [object, RegExp][] = [
    [{ type: 'text' }, /expected length with the type text/],
    [{ length: 2 }, /expected length with the type text/],
    [{ kind: 'coil', type: 'int16' }, /expected neither type nor bit/],
    [{ kind: 'discrete', bit: 1 }, /expected neither type nor bit/],
    [{ type: 'int16', bit: 1 }, /expected a bit without a type/],
    [{ type: 'text', length: 2, scale: 2 }, /expected neither scale nor offset/],
    [{ address: 65_535, type: 'uint32' }, /expected a value that ends at address 65535/],
  ]
  for (const [register, expected] of cases) t.match(faultsOf(bus([{ ...one, ...register }])), expected)
  t.match(faultsOf(bus([])), /registers/, 'a device without registers')
  t.match(faultsOf(bus([one], { position: {} })), /expected either fixed, or table and key/)
  t.match(faultsOf(bus([one], { position: { table: 't' } })), /expected either fixed, or table and key/)
  for (const url of ['http://h', 'tcp://', 'rtu://dev/ttyS0', 'rtu:///dev/../etc/passwd?', 'tcp://u:p@h'])
    t.match(faultsOf(bus([one], {}, { url })), /expected tcp:\/\/host:port/, url)
  for (const url of [
    'tcp://h',
    'tcp://[::1]:1502',
    'rtu+tcp://10.0.0.1:4001',
    'rtu:///dev/serial/by-id/usb-FTDI_X-if00',
  ])
    t.equal(faultsOf(bus([one], {}, { url })), 'none', url)
  const twice = [
    { name: 'd', table: 't', registers: [one] },
    { name: 'd', table: 't', registers: [one] },
  ]
  t.match(faultsOf(bus([one], {}, { devices: twice })), /expected a name of its own for each device/)
  const shared = loadConfig(null, {}, {
    ingest: {
      mqtt: { brokers: [{ name: 'b', url: 'mqtt://h' }] },
      modbus: { buses: [{ name: 'b', url: 'tcp://h' }] },
    },
  } as never)
  t.match(
    'faults' in shared ? JSON.stringify(shared.faults) : '',
    /expected names of buses that no broker has/,
  )
})
