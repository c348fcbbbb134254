import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../src/config/config.js'
import { type KeyPair, pairHeaders, type RpcAnswer, type TestGateway } from './start-gateway.js'

export const FL = '/api/v2/fl/jsonrpc'
export const MODELS = '/api/v2/model_store/jsonrpc'

/** Settings of gateways that talk to each other on this machine, and do not wait long. */
export const LOCAL_SYNC: Settings = {
  allowLoopback: true,
  allowInsecure: ['127.0.0.1'],
  retryBaseS: 0.02,
  retryCapS: 0.2,
  waitS: 20,
}

export const DATA = { model_store_ddc: 'rain', model_kind: 'k', model_description: 'd', model_meta: { a: 1 } }

/** Uploads a model as a browser would. */
export async function putModel(
  gateway: TestGateway,
  bytes: Uint8Array<ArrayBuffer>,
  options: { data?: object; method?: string; key?: KeyPair } = {},
): Promise<RpcAnswer> {
  const form = new FormData()
  form.set('data', JSON.stringify({ ...DATA, ...options.data }))
  form.set('file', new Blob([bytes]), 'model.dat')
  const response = await fetch(
    `${gateway.url}${MODELS}/upload/${options.method ?? 'model_store.model.put'}`,
    { method: 'POST', headers: pairHeaders(options.key ?? gateway.admin), body: form },
  )
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** Feeds the store of one gateway back to the same store of another. @returns the upstream's id */
export async function connect(
  edge: TestGateway,
  upstream: { url: string; admin: KeyPair },
  change: object = {},
): Promise<number> {
  const { body } = await edge.call(FL, 'fl.create_upstream_info', {
    model_store_ddc: 'rain',
    upstream_endpoint: `${upstream.url}${FL}`,
    upstream_apikey: upstream.admin.apiKey,
    upstream_secret: upstream.admin.secret,
    create: true,
    upstream_model_store_ddc: 'rain',
    ...change,
  })
  if (body.error !== undefined) throw new Error(body.error.message)
  return body.result.id
}

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
export async function modelsOf(gateway: TestGateway, query: object = {}): Promise<any[]> {
  const { body } = await gateway.call(MODELS, 'model_store.model.get_info', {
    model_store_ddc: 'rain',
    ...query,
  })
  if (body.error?.data?.name === 'UNKNOWN_STORE') return []
  return body.result
}

// biome-ignore lint/suspicious/noExplicitAny: rows of every shape
export async function transfersOf(gateway: TestGateway, query: object = {}): Promise<any[]> {
  return (await gateway.call(FL, 'fl.list_transfers', query)).body.result
}

/** Asks again until it is so, for at most 30 s. */
export async function until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if (await isSo()) return
    await sleep(50)
  }
  throw new Error(`waited in vain: ${what}`)
}
