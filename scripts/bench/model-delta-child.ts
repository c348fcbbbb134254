// One run of the codec of model deltas in a process of its own: memory is that of this work alone.
import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { applyDeltaFile, makeDeltaFile } from '../../src/models/delta/delta-files.js'

const [kind, basePath = '', nextPath = '', deltaPath = '', outputPath = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const base = { path: basePath, sha256: digest(basePath) }
  const next = { path: nextPath, sha256: digest(nextPath) }
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  const startedAt = performance.now()
  let most = before
  const steps =
    kind === 'make'
      ? makeDeltaFile({ base, next, output: deltaPath })
      : applyDeltaFile({ base, delta: deltaPath, output: outputPath, maxBytes: 2 ** 40 })
  for await (const _ of steps) most = Math.max(most, process.memoryUsage.rss())
  const seconds = (performance.now() - startedAt) / 1000
  const isRight = kind === 'make' || digest(outputPath) === next.sha256
  process.stdout.write(
    JSON.stringify({ seconds, rssMb: (most - before) / 1e6, bytes: statSync(deltaPath).size, isRight }),
  )
}

/** Digest of a file in pieces: a whole file in memory would hide what the codec takes. */
function digest(file: string): string {
  const hash = createHash('sha256')
  const piece = Buffer.alloc(1024 * 1024)
  const fd = openSync(file, 'r')
  for (let read = readSync(fd, piece); read > 0; read = readSync(fd, piece))
    hash.update(piece.subarray(0, read))
  closeSync(fd)
  return hash.digest('hex')
}

void main()
