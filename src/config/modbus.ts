import { z } from 'zod'
import { columnName, durationS, fixedPlace, placesTable } from './row-shapes.js'

/** Devices that the gateway asks over Modbus, by TCP or serial lines. */

/** Types of registers, and how many registers a value takes. */
export const REGISTER_TYPES = {
  uint16: 1,
  int16: 1,
  uint32: 2,
  int32: 2,
  float32: 2,
  uint64: 4,
  int64: 4,
  float64: 4,
} as const

/** Registers that one request can read, and bits (Modbus application protocol 1.1b3, 6.1 and 6.3). */
export const MOST_REGISTERS = 125
export const MOST_BITS = 2000
const MAX_ADDRESS = 65_535

const makeRegister = () =>
  z
    .strictObject({
      column: columnName().describe('column of the value'),
      kind: z
        .enum(['holding', 'input', 'coil', 'discrete'])
        .default('holding')
        .describe('register that is read: holding (function 3), input (4), coil (1) or discrete input (2)'),
      address: z
        .int()
        .min(0)
        .max(MAX_ADDRESS)
        .describe('address as it is sent, counted from 0: register 40001 of a manual is holding 0'),
      type: z
        .enum(['uint16', 'int16', 'uint32', 'int32', 'float32', 'uint64', 'int64', 'float64', 'text'])
        .optional()
        .describe(
          'form of the value, uint16 where none is named; coils and discrete inputs are true or false',
        ),
      order: z
        .enum(['ABCD', 'CDAB', 'BADC', 'DCBA'])
        .default('ABCD')
        .describe('order of the bytes: ABCD is the standard, CDAB has the low register first'),
      length: z.int().min(1).max(MOST_REGISTERS).optional().describe('registers of a text'),
      bit: z
        .int()
        .min(0)
        .max(15)
        .optional()
        .describe('bit of the register that is the value, true or false; 0 is the lowest'),
      scale: z.number().default(1).describe('factor of the value'),
      offset: z.number().default(0).describe('added after the factor'),
      none: z
        .array(z.number())
        .max(100)
        .default([])
        .describe('values of the register that mean that there is none, such as 32768'),
      deadband: z
        .number()
        .min(0)
        .default(0)
        .describe('change that is too small to be stored, in the unit of the column; see store'),
    })
    .refine(({ type, length }) => (type === 'text') === (length !== undefined), {
      error: 'expected length with the type text, and only there',
    })
    .refine(({ kind, type, bit }) => isRegister(kind) || (type ?? bit) === undefined, {
      error: 'expected neither type nor bit of a coil or discrete input',
    })
    .refine(({ type, bit }) => bit === undefined || type === undefined || type === 'uint16', {
      error: 'expected a bit without a type',
    })
    .refine(({ type = 'uint16', scale, offset }) => type !== 'text' || (scale === 1 && offset === 0), {
      error: 'expected neither scale nor offset of a text',
    })
    .refine(
      ({ address, type = 'uint16', length = 1 }) =>
        address + (type === 'text' ? length : REGISTER_TYPES[type]) - 1 <= MAX_ADDRESS,
      { error: `expected a value that ends at address ${MAX_ADDRESS} or before` },
    )

/** True where values are made of 16-bit registers, and not of bits. */
export function isRegister(kind: 'holding' | 'input' | 'coil' | 'discrete'): boolean {
  return kind === 'holding' || kind === 'input'
}

const makePosition = () =>
  z
    .strictObject({
      fixed: fixedPlace().optional().describe('longitude and latitude, degrees'),
      table: placesTable()
        .optional()
        .describe('table of devices, whose rows have the places; together with key'),
      key: columnName()
        .optional()
        .describe('column of that table with the name of the device, as the settings name it'),
    })
    .refine(
      ({ fixed, table, key }) =>
        (fixed === undefined) !== (table === undefined) && (table === undefined) === (key === undefined),
      'expected either fixed, or table and key',
    )

const makeDevice = () =>
  z.strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .describe('name of the device in messages, and in deviceColumn; unlike that of the others of its bus'),
    unit: z.int().min(0).max(255).default(1).describe('unit or slave address'),
    everyS: z
      .number()
      .min(0.1)
      .max(86_400)
      .default(60)
      .describe('time between two readings, seconds; readings begin at its multiples since 1970'),
    table: z.string().min(1).max(200).describe('data_name of the table that receives the rows'),
    deviceColumn: columnName().optional().describe('column that receives the name of the device'),
    values: z
      .record(columnName(), z.union([z.string().max(10_000), z.number(), z.boolean()]))
      .default({})
      .describe('column → value that is the same in every row'),
    position: makePosition().optional().describe('geometry of the rows; absent: none'),
    durationS: durationS(),
    registers: z
      .array(makeRegister())
      .min(1)
      .max(1000)
      .describe('registers, and the columns of their values'),
    gap: z
      .int()
      .min(0)
      .max(100)
      .default(0)
      .describe('unused registers between two values up to which both are read by one request'),
    store: z
      .enum(['all', 'changes'])
      .default('all')
      .describe(
        'all: each reading is a row; changes: a reading is a row where a value differs from that of the last row by more than its deadband',
      ),
    maxQuietS: z
      .number()
      .min(0)
      .max(31_536_000)
      .default(3600)
      .describe('time after which a reading is a row though nothing has changed, seconds'),
  })

const makeBus = () =>
  z
    .strictObject({
      name: z
        .string()
        .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'expected 1 to 40 lower case letters, digits, _ or -')
        .describe('name of the bus in logs, metrics and doctor'),
      url: z
        .string()
        .max(500)
        .regex(
          /^(?:tcp:\/\/|rtu\+tcp:\/\/)(?:\[[0-9a-fA-F:]+\]|[^/?#\s:@]+)(?::\d{1,5})?\/?$|^rtu:\/\/\/dev\/[\w./@:+-]+$/,
          'expected tcp://host:port, rtu+tcp://host:port, or rtu:///dev/name of a serial line',
        )
        .describe('address: Modbus TCP, RTU frames over TCP, or a serial line; port 502 unless it names one'),
      timeoutMs: z
        .int()
        .min(10)
        .max(60_000)
        .default(1000)
        .describe('longest wait for a connection or an answer, milliseconds'),
      pauseMs: z
        .int()
        .min(0)
        .max(10_000)
        .default(0)
        .describe('silence between an answer and the next request, milliseconds; slow devices need some'),
      retries: z
        .int()
        .min(0)
        .max(10)
        .default(1)
        .describe('times that a reading that failed is tried again, before the next one is due'),
      baudRate: z
        .int()
        .min(300)
        .max(4_000_000)
        .default(19_200)
        .describe('speed of a serial line, bits a second'),
      parity: z.enum(['none', 'even', 'odd']).default('even').describe('parity of a serial line'),
      stopBits: z.literal([1, 2]).default(1).describe('stop bits of a serial line'),
      devices: z
        .array(makeDevice())
        .max(247)
        .default([])
        .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
          error: 'expected a name of its own for each device',
        })
        .describe('devices of the bus, which are asked one after another'),
    })
    .describe('a connection, and the devices that are asked over it')

/** Settings `ingest.modbus`. */
export const makeModbus = () =>
  z
    .strictObject({
      buses: z
        .array(makeBus())
        .max(50)
        .default([])
        .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
          error: 'expected a name of its own for each bus',
        })
        .describe('Modbus connections, with the devices that are asked; see docs/modbus.md'),
      waitingRows: z
        .int()
        .min(1)
        .max(1_000_000)
        .default(10_000)
        .describe(
          'rows of a bus that wait in memory while none can be stored; beyond it the oldest are lost',
        ),
    })
    .prefault({})

/** A connection, and the devices that are asked over it. */
export type BusSettings = z.output<ReturnType<typeof makeBus>>
/** A device with its registers. */
export type DeviceSettings = z.output<ReturnType<typeof makeDevice>>
/** A register, and the column of its value. */
export type RegisterSettings = z.output<ReturnType<typeof makeRegister>>
