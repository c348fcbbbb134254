import { Hono } from 'hono'
import t from 'tap'
import { type HttpEnv, headerOf } from '../../src/http/env.js'

const NAMES = ['x-one', 'x-two', 'cookie', 'absent']

t.test('headers: they are read from Node as from the web’s request', async (t) => {
  const app = new Hono<HttpEnv>()
  app.get('/', (c) => c.json(NAMES.map((name) => headerOf(c, name) ?? null)))
  const rawHeaders = ['X-One', '1', 'x-two', 'a', 'X-TWO', 'b', 'Cookie', 'c=d']
  const web = new Headers([...pairs(rawHeaders)])
  const request = new Request('http://local/', { headers: web })
  const ofWeb = await (await app.fetch(request, {})).json()
  const ofNode = await (await app.fetch(request, { incoming: { rawHeaders } })).json()
  t.same(ofNode, ['1', 'a, b', 'c=d', null])
  t.same(ofWeb, ofNode)
})

function* pairs(raw: readonly string[]): Generator<[string, string]> {
  for (let at = 0; at < raw.length; at += 2) yield [raw[at] ?? '', raw[at + 1] ?? '']
}
