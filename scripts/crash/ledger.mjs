import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { allModels, createModelBytes, put, waitForOutbox } from './models.mjs'

/** Pause of a writer whose model was refused. */
const REFUSED_PAUSE_MS = 50
/** Time of the sweep at a start, and the longest on a machine that is busy with other tests. */
const SWEEP_MS = 2000
const MAX_SWEEP_MS = 30_000

/**
 * Puts models into a gateway until `stop` is called, several at a time, and notes outside of it what was
 * acknowledged. A put that fails is counted as refused: the gateway was killed, and owes nothing.
 *
 * @param pickSize size of the next model
 * @param maxPauseMs longest pause of a writer between two models
 */
export function startWriters(node, { writers, random, maxBytes, pickSize, maxPauseMs }) {
  const acknowledged = []
  const modelOf = createModelBytes(maxBytes)
  let isOver = false
  let refused = 0
  const write = async () => {
    while (!isOver) {
      const { sha256, sizeBytes, chunks } = modelOf(pickSize())
      try {
        const { model_id: modelId } = await put(node, { sizeBytes, chunks })
        acknowledged.push({ modelId, sha256, sizeBytes, ackMs: performance.now() })
      } catch {
        refused++
        await sleep(REFUSED_PAUSE_MS)
      }
      await sleep(random() * maxPauseMs)
    }
  }
  const running = Array.from({ length: writers }, write)
  return {
    acknowledged,
    facts: () => ({
      acknowledged: acknowledged.length,
      bytes: acknowledged.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      refused,
    }),
    async stop() {
      isOver = true
      await Promise.all(running)
    },
  }
}

/**
 * Compares two gateways with the ledger after the last strike, when every transfer has ended. Each is started
 * once more before: the sweep at the start takes what the strikes left.
 *
 * @returns lines that say what is wrong, and how long the two starts took
 */
export async function judgeLedger(ledger, edge, upstream) {
  await waitForOutbox(edge)
  const startMs = []
  for (const node of [edge, upstream]) {
    await node.kill('SIGTERM')
    startMs.push(await node.start())
  }
  await sleep(SWEEP_MS)
  const isSwept = () => [edge, upstream].every((node) => leftovers(node.dataDir).length === 0)
  for (let waitedMs = SWEEP_MS; !isSwept() && waitedMs < MAX_SWEEP_MS; waitedMs += SWEEP_MS)
    await sleep(SWEEP_MS)
  return { faults: await compareWithLedger(ledger, edge, upstream), startMs }
}

/** Digests of the blob files of a data directory, each read through: file name → digest of its bytes. */
export function readBlobs(dataDir) {
  const root = path.join(dataDir, 'models')
  const found = new Map()
  for (const folder of readdirSync(root)) {
    if (!/^[0-9a-f]{2}$/.test(folder)) continue
    for (const name of readdirSync(path.join(root, folder))) {
      found.set(
        name,
        createHash('sha256')
          .update(readFileSync(path.join(root, folder, name)))
          .digest('hex'),
      )
    }
  }
  return found
}

/** Files that must not exist once nothing runs: incomplete ones, parts, quarantined ones. */
export function leftovers(dataDir) {
  const list = (name) =>
    existsSync(path.join(dataDir, name))
      ? readdirSync(path.join(dataDir, name)).map((file) => `${name}/${file}`)
      : []
  return [...list('tmp'), ...list('parts'), ...list('models/quarantine')]
}

/** `PRAGMA integrity_check` of both databases. */
export async function checkDatabases(dataDir) {
  const { default: Database } = await import('better-sqlite3')
  return ['state.db', 'data.db'].flatMap((name) => {
    const db = new Database(path.join(dataDir, name))
    const rows = db.pragma('integrity_check').map((row) => row.integrity_check)
    db.close()
    return rows.filter((row) => row !== 'ok').map((row) => `${name}: ${row}`)
  })
}

/**
 * Compares what is left with the ledger: every acknowledged model is at the edge with its bytes, and at the
 * upstream exactly once; no file is without a row and no row without its file.
 *
 * @returns lines that say what is wrong
 */
async function compareWithLedger(ledger, edge, upstream, store = 'load') {
  const faults = []
  const edgeModels = await allModels(edge, store)
  const upstreamModels = await allModels(upstream, store)
  const byId = new Map(edgeModels.map((model) => [model.model_id, model]))
  const upstreamBySha = Map.groupBy(upstreamModels, (model) => model.model_sha256)
  for (const { modelId, sha256, sizeBytes } of ledger) {
    const model = byId.get(modelId)
    if (model === undefined) faults.push(`acknowledged model ${modelId} is gone`)
    else if (model.model_sha256 !== sha256 || model.model_size !== sizeBytes)
      faults.push(`model ${modelId} has another digest`)
    const there = upstreamBySha.get(sha256)?.length ?? 0
    if (there !== 1) faults.push(`model ${modelId} is ${there} times upstream`)
  }
  for (const [sha256, models] of upstreamBySha)
    if (models.length !== 1) faults.push(`${sha256} is ${models.length} times upstream`)
  if (upstreamModels.length !== edgeModels.length)
    faults.push(`${edgeModels.length} models here, ${upstreamModels.length} upstream`)
  for (const [node, models] of [
    [edge, edgeModels],
    [upstream, upstreamModels],
  ]) {
    const files = readBlobs(node.dataDir)
    const named = new Set(models.map((model) => model.model_sha256))
    for (const [name, digest] of files) {
      if (name !== digest) faults.push(`${node.name}: the file ${name} holds other bytes`)
      if (!named.has(name)) faults.push(`${node.name}: the file ${name} is an orphan`)
    }
    for (const sha256 of named) if (!files.has(sha256)) faults.push(`${node.name}: no file for ${sha256}`)
    for (const file of leftovers(node.dataDir)) faults.push(`${node.name}: ${file} was left behind`)
    for (const line of await checkDatabases(node.dataDir)) faults.push(`${node.name}: ${line}`)
  }
  return faults
}
