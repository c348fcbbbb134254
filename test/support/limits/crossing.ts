import type { Test } from 'tap'
import type { Settings } from '../../../src/config/config.js'
import { pairHeaders, type RpcAnswer, type TestGateway } from '../start-gateway.js'

/** How one setting is crossed, and what comes of it. */
export interface Crossing {
  /** a gateway of its own with these settings; without, the one of all the small limits */
  settings?: Settings
  cross(t: Test, gateway: TestGateway): Promise<void>
}

export const SESSION = '/api/v1/session/jsonrpc'
export const LOADER = '/api/v1/dataloaderapi/jsonrpc'
export const MAPS = '/api/v1/svcapi/jsonrpc'
export const DATASET = '/api/v2/dataset/jsonrpc'
export const MODELS = '/api/v2/model_store/jsonrpc'

export const VERIFY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'session.verify_session_token',
  params: { token: 'x' },
})

/** The error's name and message, and that nothing internal is in them. */
export function isRefused(t: Test, answer: RpcAnswer, status: number, name: string, message: RegExp): void {
  t.equal(answer.status, status, JSON.stringify(answer.body)?.slice(0, 300))
  t.match(answer.body?.error, { message, data: { name } })
}

/** Sends a body as it is and reads the answer whatever it is. */
export async function send(
  { url, admin }: TestGateway,
  path: string,
  body: RequestInit['body'],
  headers: Record<string, string> = {},
): Promise<RpcAnswer> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...pairHeaders(admin), ...headers },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  } as RequestInit)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

/** A table for the loader's limits, made once. */
export async function ensureTable(gateway: TestGateway, dataName: string): Promise<void> {
  const record_def = { id: { udt_name: 'int4' }, note: { udt_name: 'text', is_nullable: true } }
  const params = { data_name: dataName, record_def, unique_columns: ['id'] }
  const { body } = await gateway.call(LOADER, 'loaderwebapi.register_loader', params)
  if (body.error !== undefined && body.error.data.name !== 'ALREADY_REGISTERED')
    throw new Error(JSON.stringify(body.error))
}

export function record(id: number, note = 'x') {
  const properties = {
    start_datetime: '2026-01-01 00:00:00Z',
    end_datetime: '2026-01-02 00:00:00Z',
    id,
    note,
  }
  return { type: 'Feature', geometry: { type: 'Point', coordinates: [139.7, 35.6] }, properties }
}
