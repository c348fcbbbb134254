import t from 'tap'
import { AppError } from '../../src/errors.js'
import { startTransport } from '../support/transport.js'

t.test('document: a fault of its maker is a refusal, out of disk 503 with Retry-After', async (t) => {
  const document = () => {
    throw new AppError('DISK_FULL')
  }
  const { port } = await startTransport(t, {}, { document })
  const refused = await fetch(`http://127.0.0.1:${port}/document.json`)
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '60', 'space is freed by people')
  t.match(await refused.json(), { error: { data: { name: 'DISK_FULL' } } })
})

t.test('document: made once, answered without credentials, to GET and HEAD alone', async (t) => {
  let made = 0
  const { port } = await startTransport(t, {}, { document: () => ({ made: ++made }) })
  const url = `http://127.0.0.1:${port}/document.json`
  t.same(await (await fetch(url)).json(), { made: 1 })
  t.same(await (await fetch(url)).json(), { made: 1 })
  const head = await fetch(url, { method: 'HEAD' })
  t.match([head.status, await head.text()], [200, ''])
  const refused = await fetch(url, { method: 'POST' })
  t.match([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'])
})
