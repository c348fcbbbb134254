import path from 'node:path'
import type { Settings } from '../../src/config/config.js'
import { hubCli, makeHub, serveHub, startEngines } from './hub.js'
import { type KeyPair, pairHeaders, startGateway, type TestGateway } from './start-gateway.js'

type TestLike = Parameters<typeof startGateway>[0]

/** One answer over HTTP, without what differs between two nodes. */
export interface Answer {
  readonly status: number
  readonly type: string | null
  readonly crs: string | null
  readonly text: string
}

/** Answers of the gateway and of the processes of the hub to one request. */
interface Answers {
  readonly gateway: Answer
  readonly hub: readonly Answer[]
}

/** A hub of two processes, and a gateway on SQLite, which are asked the same. */
export interface Pair {
  readonly gateway: TestGateway
  readonly hubUrls: readonly [string, string]
  readonly hubAdmin: KeyPair
  /** sends one call to the gateway, and to the first process of the hub alone. @throws Error for an error answer */
  write(apiPath: string, method: string, params: unknown): Promise<{ gateway: unknown; hub: unknown }>
  /** sends one call to the gateway, and to each process of the hub */
  call(apiPath: string, method: string, params: unknown): Promise<Answers>
  /** asks for one path with GET, with the admin's key unless headers without one are wanted */
  get(path: string, headers?: Record<string, string>, withoutKey?: boolean): Promise<Answers>
}

/** Starts them. @param settings of both kinds of node */
export async function startPair(t: TestLike, settings: Settings = {}): Promise<Pair> {
  const place = await makeHub(t, await startEngines(t), { settings })
  const hubAdmin: KeyPair = JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout)
  const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
  // `testdir` is Swift's: a second call would empty it
  const gateway = await startGateway(t, { settings, dataDir: path.join(place.dir, 'gateway') })
  const hubUrls = [one.url, two.url] as const
  const toAll = async (ask: (url: string, admin: KeyPair) => Promise<Answer>): Promise<Answers> => ({
    gateway: await ask(gateway.url, gateway.admin),
    hub: [await ask(one.url, hubAdmin), await ask(two.url, hubAdmin)],
  })
  return {
    ...{ gateway, hubUrls, hubAdmin },
    async write(apiPath, method, params) {
      const ask = (url: string, admin: KeyPair) => callOf(url, admin, { apiPath, method, params })
      const [there, here] = [await ask(gateway.url, gateway.admin), await ask(one.url, hubAdmin)]
      return { gateway: resultOf(there), hub: resultOf(here) }
    },
    call: (apiPath, method, params) => toAll((url, admin) => callOf(url, admin, { apiPath, method, params })),
    get: (path, headers = {}, withoutKey = false) =>
      toAll((url, admin) =>
        answerOf(url, path, { headers: { ...(withoutKey ? {} : pairHeaders(admin)), ...headers } }),
      ),
  }
}

function callOf(url: string, admin: KeyPair, call: { apiPath: string; method: string; params: unknown }) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: call.method, params: call.params })
  const headers = { ...pairHeaders(admin), 'Content-Type': 'application/json' }
  return answerOf(url, call.apiPath, { method: 'POST', headers, body })
}

/** Sends a request with a fixed `X-Request-Id`, and replaces the address of the node and the time of the answer. */
async function answerOf(url: string, path: string, request: RequestInit): Promise<Answer> {
  const headers = { ...request.headers, 'X-Request-Id': 'same-request' }
  const response = await fetch(`${url}${path}`, { ...request, headers })
  const text = await response.text()
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    crs: response.headers.get('content-crs'),
    text: text.replaceAll(url, 'http://node').replace(/(?<="timeStamp":")[^"]*/, '2026-01-01T00:00:00Z'),
  }
}

function resultOf({ text }: Answer): unknown {
  const { result, error } = JSON.parse(text)
  if (error !== undefined) throw new Error(text)
  return result
}
