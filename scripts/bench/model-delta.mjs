// Model rounds of a 50 MB safetensors file made by a seed: bytes of the delta beside those of zstd alone, time
// and memory. Weights are normally distributed; a dense round adds noise to all of them, an adapter round to
// one array of sixteen.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import { buildChild } from './build-child.mjs'

const WEIGHTS = 12_500_000
const ARRAYS = 16
const SIGMA = 0.02

export async function run() {
  const child = await buildChild('model-delta-child')
  const dir = mkdtempSync(path.join(tmpdir(), 'model-delta-'))
  try {
    const weights = normals(WEIGHTS, 1).map((value) => value * SIGMA)
    const rows = []
    for (const [type, pack] of Object.entries(TYPES)) {
      const base = write(dir, 'base', file(type, pack, weights))
      for (const [round, change] of Object.entries(ROUNDS)) {
        const next = write(dir, 'next', file(type, pack, change(weights)))
        rows.push(measure(child, dir, { type, round, base, next }))
      }
    }
    console.table(rows)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const ROUNDS = {
  'dense 1e-2': (weights) => noisy(weights, 1e-2, () => true),
  'dense 1e-3': (weights) => noisy(weights, 1e-3, () => true),
  'dense 1e-4': (weights) => noisy(weights, 1e-4, () => true),
  adapter: (weights) => noisy(weights, 1e-2, (index) => Math.floor((index * ARRAYS) / WEIGHTS) === 3),
  unchanged: (weights) => weights,
}

const TYPES = {
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

function file(type, pack, weights) {
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

function write(dir, name, bytes) {
  const target = path.join(dir, name)
  writeFileSync(target, bytes)
  return target
}

function measure(child, dir, { type, round, base, next }) {
  const [delta, output] = [path.join(dir, 'delta'), path.join(dir, 'output')]
  const call = (kind) =>
    JSON.parse(
      execFileSync(process.execPath, ['--expose-gc', child, kind, base, next, delta, output]).toString(),
    )
  const made = call('make')
  const applied = call('apply')
  if (!applied.isRight) throw new Error(`${type} ${round}: the rebuilt file differs`)
  const bytes = readFileSync(next)
  const alone = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }).byteLength
  const megabytes = bytes.byteLength / 1e6
  return {
    type,
    round,
    MB: round1(megabytes),
    'delta bytes': made.bytes,
    '% left': round1((made.bytes / bytes.byteLength) * 100),
    'zstd alone, %': round1((alone / bytes.byteLength) * 100),
    'make MB/s': Math.round(megabytes / made.seconds),
    'apply MB/s': Math.round(megabytes / applied.seconds),
    'make +MB': Math.round(made.rssMb),
    'apply +MB': Math.round(applied.rssMb),
  }
}

const round1 = (value) => Math.round(value * 10) / 10
