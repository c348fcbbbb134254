import { randomBytes, randomUUID } from 'node:crypto'
import path from 'node:path'
import { formatSecret, hashSecret } from '../../src/auth/secret.js'
import { prepareDataDir } from '../../src/cli/serving/prepare.js'
import { loadConfig, type Settings } from '../../src/config/config.js'
import { layoutOf } from '../../src/files/layout.js'
import { createGateway } from '../../src/gateway/app.js'
import type { Gateway } from '../../src/gateway/options.js'
import { createLog } from '../../src/log.js'
import { openState } from '../../src/storage/sqlite/state.js'
import { workerEntry } from './worker-entry.js'

export interface KeyPair {
  apiKey: string
  secret: string
}

/** A whole gateway on a free port, over a data directory of the test's. */
export interface TestGateway {
  readonly url: string
  readonly dataDir: string
  readonly gateway: Gateway
  readonly admin: KeyPair
  /** log lines so far, parsed */
  readonly logLines: readonly Record<string, unknown>[]
  /** a further key, made as the command line does beside a running gateway */
  /** @param tables that it may send and read as feeds */
  makeKey(scopes: readonly string[], expiresAtUs?: number, tables?: readonly string[]): Promise<KeyPair>
  revokeKey(apiKey: string): Promise<void>
  /** gives a key another secret. @returns it */
  rotateKey(apiKey: string, overlapS: number): Promise<string>
  /** one JSON-RPC call; the admin key unless other headers are given */
  call(path: string, method: string, params?: unknown, headers?: Record<string, string>): Promise<RpcAnswer>
}

/** What came back of one HTTP request. */
export interface RpcAnswer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
}

export interface StartOptions {
  /** settings that differ from the defaults */
  settings?: Settings
  /** a directory of the test's; `t.testdir()` unless given */
  dataDir?: string
  /** version of the program; 1.2.3 unless given */
  version?: string
}

type TestLike = { testdir(): string; teardown(work: () => unknown): unknown }

/** Starts a gateway in this process; it is stopped when the test ends. */
export async function startGateway(t: TestLike, options: StartOptions = {}): Promise<TestGateway> {
  const dataDir = options.dataDir ?? path.join(t.testdir(), 'data')
  const layout = layoutOf(dataDir)
  const { apiKey, secret } = await prepareDataDir(layout)
  const loaded = loadConfig(
    null,
    {},
    { ...options.settings, dataDir, server: { port: 0, ...serverOf(options) } },
  )
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const logLines: Record<string, unknown>[] = []
  const gateway = await createGateway({
    config: loaded.config,
    dataDir,
    log: createLog('debug', { write: (line) => logLines.push(JSON.parse(line)) }),
    workerEntry: workerEntry(),
    version: options.version ?? '1.2.3',
  })
  t.teardown(() => gateway.stop())
  const admin = apiKey !== null && secret !== null ? { apiKey, secret } : await addKey(dataDir, ['admin'], {})
  return {
    url: gateway.url,
    dataDir,
    gateway,
    admin,
    logLines,
    makeKey: (scopes, expiresAtUs, tables) => addKey(dataDir, scopes, { expiresAtUs, tables }),
    revokeKey: (keyId) => withState(dataDir, async (state) => void (await state.keys.revoke(keyId))),
    async rotateKey(keyId, overlapS) {
      const secret = formatSecret(randomBytes(32))
      await withState(
        dataDir,
        async ({ keys }) => void (await keys.rotate(keyId, hashSecret(secret), overlapS)),
      )
      return secret
    },
    call: (apiPath, method, params, headers = pairHeaders(admin)) =>
      post(`${gateway.url}${apiPath}`, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers),
  }
}

/** Headers of a key pair. */
export function pairHeaders({ apiKey, secret }: KeyPair): Record<string, string> {
  return { APIKey: apiKey, Secret: secret }
}

/** Sends a body as it is; `Content-Type` is JSON unless given. */
export async function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<RpcAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

function serverOf({ settings }: StartOptions): Settings {
  return (settings?.server ?? {}) as Settings
}

async function addKey(
  dataDir: string,
  scopes: readonly string[],
  {
    expiresAtUs = null,
    tables,
  }: { expiresAtUs?: number | null | undefined; tables?: readonly string[] | undefined },
): Promise<KeyPair> {
  const pair = { apiKey: randomUUID(), secret: formatSecret(randomBytes(32)) }
  await withState(dataDir, async ({ keys, askedFeeds }) => {
    const secretHash = hashSecret(pair.secret)
    await keys.create({
      keyId: pair.apiKey,
      name: scopes.join(' ').slice(0, 100),
      scopes,
      secretHash,
      expiresAtUs,
    })
    if (tables !== undefined) await askedFeeds.grant(pair.apiKey, tables)
  })
  return pair
}

type OpenedState = Awaited<ReturnType<typeof openState>>

async function withState(dataDir: string, work: (state: OpenedState) => Promise<void>): Promise<void> {
  const state = await openState(layoutOf(dataDir).stateDb)
  try {
    await work(state)
  } finally {
    await state.close()
  }
}
