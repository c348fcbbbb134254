import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DATASET, FL, LOADER } from '../api-paths.mjs'
import { hubVerbs } from '../hub-process.mjs'
import { NODE_FLAGS } from '../node-flags.mjs'
import { ANSWER_MS } from './models.mjs'

/** Gateways of the crash tests: processes of their own, which are killed and started again. */

/** Settings of all gateways here: both ends are on this machine, and retries come after seconds. */
export const FAST = {
  FIELDGATE_SYNC__ALLOW_LOOPBACK: 'true',
  FIELDGATE_SYNC__ALLOW_INSECURE: '["127.0.0.1"]',
  FIELDGATE_SYNC__RETRY_BASE_S: '0.05',
  FIELDGATE_SYNC__RETRY_CAP_S: '1',
  FIELDGATE_LOG__LEVEL: 'info',
}

/** A gateway that tells no readiness for so long does not start. */
const START_MS = 60_000

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
  node.start = () => startNode(workspace, node, { env: { ...FAST, ...env } })
  node.kill = (signal = 'SIGKILL') => killNode(node, signal)
  node.freeze = () => freezeNode(node)
  node.rpc = (apiPath, method, params) => rpc(node, apiPath, method, params)
  node.headers = { apikey: apiKey, secret }
  return node
}

/**
 * A process of a hub over engines that run, with one data directory and one port.
 *
 * @param place of `makeHub`
 */
export async function createHubNode(workspace, { config }, { name, dataDir, headers }) {
  const port = await freePort()
  const node = { name, port, dataDir, headers, log: '', url: `http://127.0.0.1:${port}` }
  node.start = () => startNode(workspace, node, { argv: ['--config', config] })
  node.kill = (signal = 'SIGKILL') => killNode(node, signal)
  node.freeze = () => freezeNode(node)
  node.thaw = () => node.child.kill('SIGCONT')
  node.rpc = (apiPath, method, params) => rpc(node, apiPath, method, params)
  return node
}

/** Runs `hub init`. @returns headers of its first key */
export function initHub({ program }, place) {
  const { apiKey: apikey, secret } = hubVerbs(place, 'verbs', program)('hub', 'init')
  return { apikey, secret }
}

export async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

/**
 * Starts a process of a gateway or a hub.
 *
 * @param node `name`, `dataDir` and `port`; gets `child`, `exited` and `log`
 * @param options.argv more words of the verb `serve`
 * @returns milliseconds until it answers
 */
async function startNode(workspace, node, { env = {}, argv = [] }) {
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
    ...argv,
  ]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  node.child = child
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  child.once('exit', () => process.off('exit', killAtExit))
  node.exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  child.stderr.setEncoding('utf8').on('data', (text) => {
    node.log = (node.log + text).slice(-200_000)
  })
  await new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Error(`${node.name} is not ready after ${START_MS} ms: ${node.log.slice(-2000)}`)),
      START_MS,
    )
    node.exited.then(() => clearTimeout(late))
    child.stdout.setEncoding('utf8').on('data', (text) => {
      if (!text.includes('"ready"')) return
      clearTimeout(late)
      resolve()
    })
    child.once('exit', (code) =>
      reject(new Error(`${node.name} ended with ${code}: ${node.log.slice(-2000)}`)),
    )
  })
  return performance.now() - startMs
}

async function killNode(node, signal) {
  node.child?.kill(signal)
  await node.exited
}

/**
 * Stops the process; when this comes back, no thread of it runs any more (one that waits for the disk stops
 * after).
 */
async function freezeNode({ child }) {
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
    signal: AbortSignal.timeout(ANSWER_MS),
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
