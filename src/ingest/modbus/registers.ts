import { MOST_BITS, MOST_REGISTERS, REGISTER_TYPES, type RegisterSettings } from '../../config/modbus.js'

/** Range of one request: registers of 16 bits, or bits. */
export interface Block {
  readonly kind: RegisterSettings['kind']
  readonly address: number
  readonly count: number
  readonly registers: readonly RegisterSettings[]
}

/** Value of a register; null where it has none. Integers beyond 2⁵³ are text. */
export type Value = number | string | boolean | null

/**
 * Chooses the requests that read all registers of a device: neighbours together, up to what a request can read.
 *
 * @param gap unused registers between two values up to which both are read by one request
 */
export function blocksOf(registers: readonly RegisterSettings[], gap: number): Block[] {
  const blocks: { kind: Block['kind']; address: number; end: number; registers: RegisterSettings[] }[] = []
  const sorted = [...registers].sort((a, b) => a.kind.localeCompare(b.kind) || a.address - b.address)
  for (const register of sorted) {
    const { kind, address } = register
    const most = isBits(kind) ? MOST_BITS : MOST_REGISTERS
    const end = address + sizeOf(register)
    const last = blocks.at(-1)
    if (last?.kind === kind && address - last.end <= gap && Math.max(end, last.end) - last.address <= most) {
      last.registers.push(register)
      last.end = Math.max(end, last.end)
    } else blocks.push({ kind, address, end, registers: [register] })
  }
  return blocks.map(({ end, ...block }) => ({ ...block, count: end - block.address }))
}

/**
 * Reads the value of a register from the answer to its block.
 *
 * @param data registers of two bytes each, or eight bits a byte from the lowest on
 */
export function registerValue(register: RegisterSettings, block: Block, data: Buffer): Value {
  const at = register.address - block.address
  if (isBits(register.kind)) return (data.readUInt8(at >> 3) & (1 << (at & 7))) !== 0
  const bytes = ordered(data.subarray(2 * at, 2 * (at + sizeOf(register))), register.order)
  if (register.bit !== undefined) return (bytes.readUInt16BE() & (1 << register.bit)) !== 0
  if (register.type === 'text') return textOf(bytes)
  const raw = READERS[register.type ?? 'uint16'](bytes)
  if (register.none.includes(Number(raw))) return null
  return scaled(raw, register)
}

/**
 * Reports whether a value differs from another by more than a deadband. Any change of what is no number counts.
 */
export function differs(value: Value, last: Value | undefined, deadband: number): boolean {
  if (typeof value === 'number' && typeof last === 'number') return Math.abs(value - last) > deadband
  return value !== last
}

function isBits(kind: RegisterSettings['kind']): boolean {
  return kind === 'coil' || kind === 'discrete'
}

/** Registers, or bits, of a value. */
function sizeOf({ kind, type = 'uint16', length = 1 }: RegisterSettings): number {
  if (isBits(kind)) return 1
  return type === 'text' ? length : REGISTER_TYPES[type]
}

const READERS: Readonly<Record<keyof typeof REGISTER_TYPES, (bytes: Buffer) => number | bigint>> = {
  uint16: (bytes) => bytes.readUInt16BE(),
  int16: (bytes) => bytes.readInt16BE(),
  uint32: (bytes) => bytes.readUInt32BE(),
  int32: (bytes) => bytes.readInt32BE(),
  float32: (bytes) => shortest(bytes.readFloatBE()),
  uint64: (bytes) => bytes.readBigUInt64BE(),
  int64: (bytes) => bytes.readBigInt64BE(),
  float64: (bytes) => bytes.readDoubleBE(),
}

/** Puts the bytes of a value in their standard order, the highest first. */
function ordered(bytes: Buffer, order: RegisterSettings['order']): Buffer {
  const copy = Buffer.from(bytes)
  if (order === 'BADC' || order === 'DCBA') copy.swap16()
  if (order === 'ABCD' || order === 'BADC') return copy
  const words = Array.from({ length: copy.length / 2 }, (_, at) => copy.subarray(2 * at, 2 * at + 2))
  return Buffer.concat(words.reverse())
}

/** Text of registers, which devices fill up with zeros or blanks. */
function textOf(bytes: Buffer): string | null {
  const end = bytes.indexOf(0)
  const text = bytes.toString('utf8', 0, end === -1 ? undefined : end).trimEnd()
  return text === '' ? null : text
}

/** Returns the number with the fewest digits that a float of 32 bits stands for: 21.3 and not 21.299999237060547. */
function shortest(value: number): number {
  for (let digits = 6; digits <= 9; digits++) {
    const rounded = Number(value.toPrecision(digits))
    if (Math.fround(rounded) === value) return rounded
  }
  return value // not a number, or infinite
}

/** A product of doubles has digits that no register had: 3 · 0.1 is 0.30000000000000004. */
const SCALED_DIGITS = 15

function scaled(raw: number | bigint, { scale, offset }: RegisterSettings): Value {
  if (scale === 1 && offset === 0) {
    if (typeof raw === 'number') return Number.isFinite(raw) ? raw : null
    return Number.isSafeInteger(Number(raw)) ? Number(raw) : raw.toString()
  }
  const value = Number((Number(raw) * scale + offset).toPrecision(SCALED_DIGITS))
  return Number.isFinite(value) ? value : null
}
