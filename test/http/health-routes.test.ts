import t from 'tap'
import { startTransport } from '../support/transport.js'

t.test('health: answered without credentials, to GET alone', async (t) => {
  const readiness = () => [
    { part: 'database', isReady: true },
    { part: 'clock', isReady: true, isWarning: true, reason: 'it is behind the last recorded time' },
  ]
  const { port } = await startTransport(t, {}, { readiness })
  const url = `http://127.0.0.1:${port}`
  t.same(await (await fetch(`${url}/healthz`)).json(), { status: 'alive' })
  const ready = await fetch(`${url}/readyz`)
  t.equal(ready.status, 200, 'a warning does not make it unready')
  t.match(await ready.json(), { status: 'ready', parts: [{}, { isWarning: true, reason: /behind/ }] })
  for (const path of ['/healthz', '/readyz']) {
    const refused = await fetch(url + path, { method: 'POST' })
    t.match([refused.status, refused.headers.get('allow')], [405, 'GET'], path)
  }
})
