// Safetensors files of model rounds, made by a seed: normally distributed weights; a dense round adds noise to all of
// them, an adapter round to one array of sixteen.

const WEIGHTS = 12_500_000
const ARRAYS = 16
const SIGMA = 0.02

/** Weights of the base of all rounds. */
export function baseWeights() {
  return normals(WEIGHTS, 1).map((value) => value * SIGMA)
}

export const ROUNDS = {
  'dense 1e-2': (weights) => noisy(weights, 1e-2, () => true),
  'dense 1e-3': (weights) => noisy(weights, 1e-3, () => true),
  'dense 1e-4': (weights) => noisy(weights, 1e-4, () => true),
  adapter: (weights) => noisy(weights, 1e-2, (index) => Math.floor((index * ARRAYS) / WEIGHTS) === 3),
  unchanged: (weights) => weights,
}

export const TYPES = {
  F32: (weights) => new Uint8Array(weights.buffer.slice(0)),
  BF16: (weights) => {
    const bits = new Uint32Array(weights.buffer.slice(0))
    return new Uint8Array(
      Uint16Array.from(bits, (word) => (word + 0x7fff + ((word >>> 16) & 1)) >>> 16).buffer,
    )
  },
  I8: (weights) =>
    new Uint8Array(
      Int8Array.from(weights, (value) => Math.max(-127, Math.min(127, Math.round((value / SIGMA) * 32))))
        .buffer,
    ),
}

function noisy(weights, scale, isChanged) {
  const noise = normals(weights.length, 2)
  return weights.map((value, index) => (isChanged(index) ? value + noise[index] * SIGMA * scale : value))
}

/** Numbers of the standard normal distribution. @see G. Box, M. Muller, 1958; G. Marsaglia, xorshift, 2003 */
function normals(count, seed) {
  let state = seed * 2_654_435_769
  const uniform = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return ((state >>> 0) + 0.5) / 2 ** 32
  }
  const values = new Float32Array(count)
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform()))
    const angle = 2 * Math.PI * uniform()
    values[i] = radius * Math.cos(angle)
    if (i + 1 < count) values[i + 1] = radius * Math.sin(angle)
  }
  return values
}

export function file(type, pack, weights) {
  const data = pack(weights)
  const each = data.byteLength / ARRAYS
  const header = Object.fromEntries(
    Array.from({ length: ARRAYS }, (_, i) => [
      `layers.${i}.weight`,
      { dtype: type, shape: [WEIGHTS / ARRAYS], data_offsets: [i * each, (i + 1) * each] },
    ]),
  )
  const text = JSON.stringify(header)
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(padded.byteLength))
  return Buffer.concat([length, padded, data])
}
