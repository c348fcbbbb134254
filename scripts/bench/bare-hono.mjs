// The floor: hono on the same Node, answering constant JSON after reading the body.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.post('/', async (c) => {
  await c.req.text()
  return c.json({ jsonrpc: '2.0', result: { active: false }, id: 1 })
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send(port))
