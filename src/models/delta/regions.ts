import type { ByteSource } from './byte-source.js'
import type { Width } from './planes.js'

/** Part of the new file that is compared with a part of the base. */
export interface Region {
  readonly offset: number
  readonly length: number
  /** bytes of an element of an array that has an equal one in the base; null for other bytes */
  readonly width: Width | null
  /** begin of the part of the base; as long as the region where there is a width */
  readonly baseOffset: number
}

interface Tensor {
  readonly name: string
  readonly dtype: string
  readonly shape: string
  readonly offset: number
  readonly length: number
}

/** Largest header that is read; larger files are compared in blocks. The format allows 100 MB. */
const MAX_HEADER_BYTES = 16 * 1024 * 1024

/**
 * Divides a new file into parts, in order and without gaps. Of two `safetensors` files, equal arrays are
 * compared with each other, wherever they are; all other bytes with those at the same offset.
 *
 * @see https://github.com/huggingface/safetensors, "Format"
 */
export async function regionsOf(base: ByteSource, next: ByteSource): Promise<Region[]> {
  const [before, after] = [await readTensors(base), await readTensors(next)]
  const regions: Region[] = []
  let end = 0
  const addOthers = (until: number) => {
    if (until > end) regions.push({ offset: end, length: until - end, width: null, baseOffset: end })
  }
  if (before !== undefined && after !== undefined) {
    const findBase = pairing(before, after)
    for (const tensor of after) {
      if (tensor.length === 0 || tensor.offset < end) continue // an array over another one is compared once
      const twin = findBase(tensor)
      if (twin === undefined) continue
      addOthers(tensor.offset)
      const { offset, length, dtype } = tensor
      regions.push({ offset, length, width: widthOf(dtype, length), baseOffset: twin.offset })
      end = offset + length
    }
  }
  addOthers(next.sizeBytes)
  return regions
}

/**
 * Pairs arrays by name; one without a namesake with the first of the same type and shape whose name is gone.
 */
function pairing(
  before: readonly Tensor[],
  after: readonly Tensor[],
): (tensor: Tensor) => Tensor | undefined {
  const form = ({ dtype, shape, length }: Tensor) => `${dtype} ${shape} ${length}`
  const byName = new Map(before.map((tensor) => [tensor.name, tensor]))
  const names = new Set(after.map(({ name }) => name))
  const renamed = new Map<string, Tensor[]>()
  for (const tensor of before) {
    if (names.has(tensor.name)) continue
    const same = renamed.get(form(tensor))
    if (same === undefined) renamed.set(form(tensor), [tensor])
    else same.push(tensor)
  }
  return (tensor) => {
    const namesake = byName.get(tensor.name)
    if (namesake !== undefined) return form(namesake) === form(tensor) ? namesake : undefined
    return renamed.get(form(tensor))?.shift()
  }
}

/** Reads the arrays of a `safetensors` file in the order of their offsets; undefined for another file. */
async function readTensors(source: ByteSource): Promise<Tensor[] | undefined> {
  if (source.sizeBytes < 10) return undefined
  const start = Buffer.alloc(9)
  await source.read(0, start)
  const headerBytes = Number(start.readBigUInt64LE())
  if (headerBytes > Math.min(MAX_HEADER_BYTES, source.sizeBytes - 8) || start[8] !== 0x7b) return undefined
  const header = Buffer.alloc(headerBytes)
  await source.read(8, header)
  const dataStart = 8 + headerBytes
  const members = parseObject(header.toString('utf8'))
  if (members === undefined) return undefined
  return Object.entries(members)
    .flatMap(([name, value]) => tensorOf(name, value, dataStart, source.sizeBytes))
    .sort((a, b) => a.offset - b.offset)
}

function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined // not a safetensors file after all
  }
}

/** Returns an array, or nothing for `__metadata__` and for a description that does not fit the file. */
function tensorOf(name: string, value: unknown, dataStart: number, sizeBytes: number): Tensor[] {
  if (typeof value !== 'object' || value === null) return []
  const { dtype, shape, data_offsets: offsets } = value as Record<string, unknown>
  if (typeof dtype !== 'string' || !Array.isArray(offsets) || offsets.length !== 2) return []
  const [from, to] = offsets as unknown[]
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return []
  const [start, end] = [from as number, to as number]
  if (start < 0 || end < start || dataStart + end > sizeBytes) return []
  return [{ name, dtype, shape: JSON.stringify(shape), offset: dataStart + start, length: end - start }]
}

/** Bytes of an element by type; types that are not listed have elements of a byte or less. */
const WIDTHS: Readonly<Record<string, Width>> = {
  ...{ F64: 8, I64: 8, U64: 8 },
  ...{ F32: 4, I32: 4, U32: 4, C64: 4 },
  ...{ F16: 2, BF16: 2, I16: 2, U16: 2 },
}

function widthOf(dtype: string, length: number): Width {
  const width = Object.hasOwn(WIDTHS, dtype) ? (WIDTHS[dtype] ?? 1) : 1
  return length % width === 0 ? width : 1
}
