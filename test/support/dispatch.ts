import { z } from 'zod'
import { AppError } from '../../src/errors.js'
import { defineMethod, type Method } from '../../src/rpc/define-method.js'
import type { Answer, Dispatch } from '../../src/rpc/dispatch.js'
import type { Piece } from '../../src/rpc/pieces.js'
import { rawJson, streamed } from '../../src/rpc/result.js'

export interface Seen {
  /** what happened to the streams, in order */
  events: string[]
  faults: [method: string, error: unknown][]
  charged: number[]
}

/** Source that records when it is begun and closed. */
export async function* source(seen: Seen, name: string, texts: string[], failAfter = Infinity) {
  seen.events.push(`${name} begun`)
  try {
    for (const [index, text] of texts.entries()) {
      if (index === failAfter) throw new Error(`${name} broke`)
      yield text
    }
  } finally {
    seen.events.push(`${name} closed`)
  }
}

export function methodsOf(seen: Seen): Method<unknown>[] {
  const plain = { summary: '', scope: 'map:read', params: z.strictObject({}), result: z.unknown() } as const
  const named = z.strictObject({ name: z.string() })
  return [
    defineMethod({ ...plain, name: 'raw', handle: () => rawJson('{"big":9007199254740993}') }),
    defineMethod({ ...plain, name: 'nothing', handle: () => undefined }),
    defineMethod({
      ...plain,
      name: 'stream',
      params: named,
      handle: ({ name }) => streamed(source(seen, name, ['[1', ',2', ']'])),
    }),
    defineMethod({
      ...plain,
      name: 'stream-fails-first',
      handle: () => streamed(source(seen, 'first', ['x'], 0)),
    }),
    defineMethod({
      ...plain,
      name: 'stream-fails-later',
      handle: () => streamed(source(seen, 'later', ['[1', ',2'], 1)),
    }),
    defineMethod({
      ...plain,
      name: 'lookalike',
      handle: () => ({ kind: 'rawJson', text: '"not raw"' }),
    }),
    defineMethod({
      ...plain,
      name: 'fails',
      handle: () => {
        throw new Error('SELECT secret FROM api_key')
      },
    }),
    defineMethod({
      ...plain,
      name: 'refuses',
      handle: () => {
        throw new AppError('NO_ROUTE', { leg: 2 }, { message: 'no way', cause: new Error('inner') })
      },
    }),
    defineMethod({ ...plain, name: 'admin-only', scope: 'admin', handle: () => 1 }),
    defineMethod({
      ...plain,
      name: 'in-array',
      paramsIn: 'array',
      params: named,
      handle: ({ name }) => name,
    }),
  ]
}

export function dispatchOf(overrides: Partial<Dispatch<unknown>> = {}): {
  call: Dispatch<unknown>
  seen: Seen
} {
  const seen: Seen = { events: [], faults: [], charged: [] }
  const methods = new Map(methodsOf(seen).map((method) => [method.name, method]))
  const call: Dispatch<unknown> = {
    api: { path: '/test', title: 'test', methods: async () => methods },
    context: {},
    requestId: 'r-1',
    maxBatch: 3,
    maxDepth: 10,
    discover: async () => ({ openrpc: 'here' }),
    pathOf: async (method) => (method === 'elsewhere' ? '/other/jsonrpc' : undefined),
    mayCall: (scope) => scope !== 'admin',
    charge: async (calls) => {
      seen.charged.push(calls)
    },
    onFault: (method, error) => seen.faults.push([method, error]),
    ...overrides,
  }
  return { call, seen }
}

export const request = (method: string, params: unknown = {}, id: unknown = 1) => ({
  jsonrpc: '2.0',
  method,
  params,
  id,
})
export const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

export async function textOf(body: Piece | null): Promise<string> {
  if (body === null || typeof body === 'string') return body ?? ''
  let text = ''
  for await (const part of body) text += part
  return text
}

export async function parsed(answer: Answer): Promise<unknown> {
  return JSON.parse(await textOf(answer.body))
}
