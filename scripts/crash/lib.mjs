import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DATASET, FL, LOADER, MODELS } from '../api-paths.mjs'
import { NODE_FLAGS } from '../node-flags.mjs'

export { FL, MODELS } from '../api-paths.mjs'
export { createRandom } from '../random.mjs'

/**
 * Set-up that the crash tests share: gateways as processes of their own, puts, ledgers, and reading what is
 * left.
 */

/** Settings of all gateways here: both ends are on this machine, and retries come after seconds. */
export const FAST = {
  FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
  FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
  FIELDGATE_SYNC__RETRY_BASE_S: '0.05',
  FIELDGATE_SYNC__RETRY_CAP_S: '1',
  FIELDGATE_LOG__LEVEL: 'info',
}

/** Flags `--name value` with defaults; numbers stay numbers. */
export function readFlags(defaults) {
  const flags = { ...defaults }
  const argv = process.argv.slice(2)
  for (let i = 0; i < argv.length; i += 2) {
    const name = argv[i].replace(/^--/, '')
    if (!(name in defaults))
      throw new Error(`unknown flag --${name}: expected ${Object.keys(defaults).join(', ')}`)
    flags[name] = typeof defaults[name] === 'number' ? Number(argv[i + 1]) : argv[i + 1]
  }
  return flags
}

/**
 * A folder that is gone at the end, with a copy of the program in it: a build beside the test must not
 * disturb it.
 */
export function makeWorkspace(name) {
  const dir = mkdtempSync(path.join(tmpdir(), `fieldgate-${name}-`))
  if (!existsSync('dist/fieldgate.cjs'))
    throw new Error('dist/fieldgate.cjs does not exist: run `npm run build` first')
  mkdirSync(path.join(dir, 'program'))
  for (const file of readdirSync('dist').filter((name) => /\.(cjs|node)$/.test(name)))
    cpSync(`dist/${file}`, path.join(dir, 'program', file))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }))
  return { dir, program: path.join(dir, 'program', 'fieldgate.cjs') }
}

/** Runs a verb to its end and returns its stdout. */
export function runVerb({ program }, args, env = {}) {
  const run = spawnSync(process.execPath, [program, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  if (run.status !== 0) throw new Error(`${args.join(' ')}: exit ${run.status}: ${run.stderr}`)
  return run.stdout
}

/** A gateway in a separate process, with one data directory and one port. */
export async function createNode(workspace, name, env = {}, dataDir = path.join(workspace.dir, name)) {
  const { apiKey, secret, nodeId } = JSON.parse(runVerb(workspace, ['init', '--data-dir', dataDir, '--json']))
  const port = await freePort()
  const node = {
    name,
    dataDir,
    apiKey,
    secret,
    nodeId,
    port,
    url: `http://127.0.0.1:${port}`,
    child: undefined,
    log: '',
  }
  node.start = () => start(workspace, node, env)
  node.kill = (signal = 'SIGKILL') => kill(node, signal)
  node.freeze = () => freeze(node)
  node.rpc = (apiPath, method, params) => rpc(node, apiPath, method, params)
  node.headers = { apikey: apiKey, secret }
  return node
}

export async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** @returns milliseconds until it answers */
async function start(workspace, node, env) {
  const startMs = performance.now()
  const args = [
    ...NODE_FLAGS,
    workspace.program,
    'serve',
    '--data-dir',
    node.dataDir,
    '--host',
    '127.0.0.1',
    '--port',
    String(node.port),
    '--json',
  ]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...FAST, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  node.child = child
  node.exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  child.stderr.setEncoding('utf8').on('data', (text) => {
    node.log = (node.log + text).slice(-200_000)
  })
  await new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      if (text.includes('"ready"')) resolve()
    })
    child.once('exit', (code) =>
      reject(new Error(`${node.name} ended with ${code}: ${node.log.slice(-2000)}`)),
    )
  })
  return performance.now() - startMs
}

async function kill(node, signal) {
  node.child?.kill(signal)
  await node.exited
}

/**
 * Stops the process; when this comes back, no thread of it runs any more (one that waits for the disk stops
 * after).
 */
async function freeze({ child }) {
  child.kill('SIGSTOP')
  const tasks = `/proc/${child.pid}/task`
  for (;;) {
    const states = readdirSync(tasks).map((task) =>
      readFileSync(`${tasks}/${task}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .charAt(0),
    )
    if (states.every((state) => 'TDZ'.includes(state))) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function rpc(node, apiPath, method, params) {
  const response = await fetch(`${node.url}${apiPath}`, {
    method: 'POST',
    headers: { ...node.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const body = await response.json()
  if (body.error !== undefined)
    throw Object.assign(new Error(`${method}: ${body.error.message}`), { rpc: body.error })
  return body.result
}

/** Feeds the edge's store back to the upstream's. */
export async function connect(edge, upstream, store = 'load', url = upstream.url) {
  return await edge.rpc(FL, 'fl.create_upstream_info', {
    model_store_ddc: store,
    upstream_endpoint: `${url}${FL}`,
    upstream_apikey: upstream.apiKey,
    upstream_secret: upstream.secret,
    create: true,
    upstream_model_store_ddc: store,
  })
}

/**
 * Puts a model over a separate connection.
 *
 * @param chunks iterable of buffers
 * @returns the model_info. Rejects when the connection broke: then the outcome is unknown, and nothing was
 *   acknowledged
 */
export function put(
  node,
  { store = 'load', method = 'model_store.model.put', sizeBytes, chunks, meta = {} },
) {
  const boundary = `b${randomBytes(8).toString('hex')}`
  const data = JSON.stringify({
    model_store_ddc: store,
    model_kind: 'k',
    model_description: 'd',
    model_meta: meta,
  })
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="data"\r\n\r\n${data}\r\n--${boundary}\r\n` +
      'Content-Disposition: form-data; name="file"; filename="m"\r\nContent-Type: application/octet-stream\r\n\r\n',
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return new Promise((resolve, reject) => {
    const request = http.request(`${node.url}${MODELS}/upload/${method}`, {
      method: 'POST',
      agent: false,
      headers: {
        ...node.headers,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': head.length + sizeBytes + tail.length,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text))
        else
          reject(
            Object.assign(new Error(`put: ${response.statusCode} ${text}`), { status: response.statusCode }),
          )
      })
    })
    void (async () => {
      try {
        request.write(head)
        for await (const chunk of chunks) {
          if (request.destroyed) return
          if (!request.write(chunk)) await drained(request)
        }
        request.end(tail)
      } catch (error) {
        reject(error)
      }
    })()
  })
}

function drained(request) {
  return new Promise((resolve) => {
    const go = () => {
      request.off('drain', go).off('close', go)
      resolve()
    }
    request.on('drain', go).on('close', go)
  })
}

/** Models of one kind each: unique bytes of any size, without generating all of them again. */
export function createModelBytes(maxBytes, seed = randomBytes(4).readUInt32LE()) {
  const pool = randomBytes(Math.min(maxBytes, 64 * 1024 * 1024))
  let count = 0
  return (sizeBytes) => {
    const mark = Buffer.alloc(Math.min(16, sizeBytes))
    if (sizeBytes >= 16) {
      mark.writeUInt32LE(seed, 0)
      mark.writeUInt32LE(count++, 4)
    }
    const chunks = [mark]
    for (let left = sizeBytes - mark.length; left > 0; ) {
      const chunk = pool.subarray(0, Math.min(left, 1024 * 1024))
      chunks.push(chunk)
      left -= chunk.length
    }
    const hash = createHash('sha256')
    for (const chunk of chunks) hash.update(chunk)
    return { sizeBytes, chunks, sha256: hash.digest('hex') }
  }
}

/** Every model of a store. */
export async function allModels(node, store = 'load') {
  return await node.rpc(MODELS, 'model_store.model.get_info', { model_store_ddc: store })
}

/** Waits until nothing is queued or being sent, for as long as something still moves. */
export async function waitForOutbox(node, stillMs = 120_000) {
  const waits = { in: ['state', ['queued', 'sending']] }
  let last = ''
  let movedAtMs = performance.now()
  for (;;) {
    const [first] = await node.rpc(FL, 'fl.list_transfers', { conds: waits, limit: 1 })
    if (first === undefined) return
    const state = `${first.id} ${first.bytes_sent}`
    if (state !== last) movedAtMs = performance.now()
    if (performance.now() - movedAtMs > stillMs)
      throw new Error(`a transfer does not move: ${JSON.stringify(first)}`)
    last = state
    await sleep(100)
  }
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
export async function compareWithLedger(ledger, edge, upstream, store = 'load') {
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

/** Prints the outcome as one line of JSON, and fails the process when something is wrong. */
export function report(name, facts, faults) {
  console.log(
    JSON.stringify({
      test: name,
      ok: faults.length === 0,
      ...facts,
      faults: faults.slice(0, 20),
      faultCount: faults.length,
    }),
  )
  if (faults.length > 0) process.exitCode = 1
}

/**
 * Registers a table and creates a dataset.
 *
 * @param table name, columns and key
 * @param dataset name, types of the columns by name, and key
 */
export async function prepareTables(node, { table, dataset }) {
  const [data_name, record_def, unique_columns] = table
  await node.rpc(LOADER, 'loaderwebapi.register_loader', { data_name, record_def, unique_columns })
  const [dataset_name, types, key_columns] = dataset
  const columns = Object.entries(types).map(([column_name, data_type]) => ({ column_name, data_type }))
  await node.rpc(DATASET, 'dataset.create', { dataset_name, columns, key_columns })
}
