// Model rounds of a 50 MB safetensors file made by a seed: bytes of the delta beside those of zstd alone, time
// and memory. Weights are normally distributed; a dense round adds noise to all of them, an adapter round to
// one array of sixteen.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import { buildChild } from './build-child.mjs'
import { baseWeights, file, ROUNDS, TYPES } from './model-files.mjs'

export async function run() {
  const child = await buildChild('model-delta-child')
  const dir = mkdtempSync(path.join(tmpdir(), 'model-delta-'))
  try {
    const weights = baseWeights()
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
