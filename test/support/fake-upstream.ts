import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import busboy from 'busboy'

/** A model as the fake upstream keeps it. */
export interface ReceivedModel {
  model_id: string
  model_hash: string
  model_size: number
  data: Record<string, unknown>
}

export interface FakeUpstream {
  url: string
  admin: { apiKey: string; secret: string }
  models: ReceivedModel[]
  /** every request: method and path */
  requests: string[]
  /** decides what happens to the n-th upload (from 0); undefined lets it pass */
  onUpload: (n: number, response: ServerResponse, store: () => ReceivedModel) => boolean | undefined
  uploads: number
  close(): Promise<void>
}

/**
 * A server that knows only what the public interface shows: the multipart upload, and `get_info` when it is
 * told so. Everything else is 404.
 */
export async function startFakeUpstream(options: { hasGetInfo: boolean }): Promise<FakeUpstream> {
  const fake: FakeUpstream = {
    url: '',
    admin: { apiKey: 'fake-key', secret: 'fake-secret' },
    models: [],
    requests: [],
    onUpload: () => undefined,
    uploads: 0,
    close: async () => undefined,
  }
  const server = createServer((request, response) => {
    fake.requests.push(`${request.method} ${request.url}`)
    if (request.url === '/api/v2/model_store/jsonrpc/upload/model_store.model.put')
      receive(fake, request, response)
    else if (options.hasGetInfo && request.url === '/api/v2/model_store/jsonrpc')
      getInfo(fake, request, response)
    else {
      request.resume()
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not Found</h1>')
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  fake.close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return fake
}

function receive(fake: FakeUpstream, request: IncomingMessage, response: ServerResponse): void {
  const n = fake.uploads++
  const isRight = request.headers.apikey === fake.admin.apiKey && request.headers.secret === fake.admin.secret
  let data: Record<string, unknown> = {}
  const hash = createHash('md5')
  let size = 0
  const parser = busboy({ headers: request.headers })
  parser.on('field', (name, value) => {
    if (name === 'data') data = JSON.parse(value)
  })
  parser.on('file', (_name, stream) => {
    stream.on('data', (chunk: Buffer) => {
      hash.update(chunk)
      size += chunk.length
    })
  })
  parser.on('error', () => response.destroy())
  request.on('error', () => response.destroy())
  parser.on('close', () => {
    const store = () => {
      const model = { model_id: randomUUID(), model_hash: hash.copy().digest('hex'), model_size: size, data }
      fake.models.push(model)
      return model
    }
    if (!isRight) response.writeHead(401).end()
    else if (fake.onUpload(n, response, store) !== true) answer(response, infoOf(store()))
  })
  request.pipe(parser)
}

function getInfo(fake: FakeUpstream, request: IncomingMessage, response: ServerResponse): void {
  let text = ''
  request.setEncoding('utf8').on('data', (part) => {
    text += part
  })
  request.on('end', () => {
    const { method, params, id } = JSON.parse(text)
    if (method !== 'model_store.model.get_info')
      return answer(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } })
    const [, hash] = params.conds['=']
    const result = fake.models.filter((model) => model.model_hash === hash).map(infoOf)
    answer(response, { jsonrpc: '2.0', id, result })
  })
}

export function infoOf({ model_id, model_hash, model_size, data }: ReceivedModel): object {
  return { model_id, ...data, model_hash, model_size, model_state: 10, hop_count: 0, round: 0 }
}

export function answer(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
