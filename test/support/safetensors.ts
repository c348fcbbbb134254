/** An array of a `safetensors` file. */
export interface TensorInput {
  name: string
  dtype: string
  shape: number[]
  bytes: Uint8Array
  /** unused bytes before it, which the format forbids */
  hole?: number
}

/** Writes a `safetensors` file, as the description of the format says. */
export function safetensors(tensors: readonly TensorInput[], metadata?: object): Buffer {
  const header: Record<string, unknown> = metadata === undefined ? {} : { __metadata__: metadata }
  const parts: Uint8Array[] = []
  let end = 0
  for (const { name, dtype, shape, bytes, hole = 0 } of tensors) {
    parts.push(new Uint8Array(hole).fill(0xaa), bytes)
    const start = end + hole
    end = start + bytes.byteLength
    header[name] = { dtype, shape, data_offsets: [start, end] }
  }
  const text = JSON.stringify(header)
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(padded.byteLength))
  return Buffer.concat([length, padded, ...parts])
}
