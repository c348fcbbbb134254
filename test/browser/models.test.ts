import { createHash, randomBytes } from 'node:crypto'
import net from 'node:net'
import path from 'node:path'
import t from 'tap'
import { missingChromium, openConsole, signIn, startBrowser } from '../support/browser.js'
import { LOCAL_SYNC, modelsOf } from '../support/models.js'
import { startGateway } from '../support/start-gateway.js'

const skip = missingChromium
const FILE_BYTES = 6_000_000

/** Proxy of a port whose connections can be cut. Counts the bytes sent to the port. */
async function startLink(t: { teardown(work: () => unknown): unknown }, port: number) {
  const sockets = new Set<net.Socket>()
  const link = { sentBytes: 0, cutAtBytes: Number.POSITIVE_INFINITY, isDown: false, cut, url: '' }
  const server = net.createServer((near) => {
    if (link.isDown) return near.destroy()
    const far = net.connect(port, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    far.pipe(near)
    near.on('data', (chunk) => {
      link.sentBytes += chunk.length
      far.write(chunk)
      if (link.sentBytes >= link.cutAtBytes) cut()
    })
  })
  function cut() {
    link.isDown = true
    link.cutAtBytes = Number.POSITIVE_INFINITY
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    cut()
    server.close()
  })
  link.url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`
  return link
}

t.test('console: an interrupted upload continues at its offset', { skip }, async (t) => {
  const gateway = await startGateway(t)
  const link = await startLink(t, gateway.gateway.port)
  const view = await openConsole(await startBrowser(t), link.url)
  const { page, goTo, complaints } = view
  await signIn(view, gateway.admin)
  await goTo('#/models')
  await page.getByText('New model store').click()
  await page.getByLabel('Name', { exact: true }).fill('rain')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'rain' }).waitFor()
  const bytes = randomBytes(FILE_BYTES)
  await page.getByLabel('File', { exact: true }).setInputFiles({
    ...{ name: 'model.bin', mimeType: 'application/octet-stream' },
    buffer: bytes,
  })
  const before = link.sentBytes
  link.cutAtBytes = before + FILE_BYTES / 2
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('Connection lost').waitFor()
  t.ok(link.isDown)
  link.isDown = false
  await page.getByText('Stored as model').waitFor()
  const [model] = await modelsOf(gateway)
  t.equal(model.model_size, FILE_BYTES)
  t.equal(model.model_sha256, createHash('sha256').update(bytes).digest('hex'))
  t.ok(
    link.sentBytes - before < FILE_BYTES * 1.4,
    `went on: ${link.sentBytes - before} bytes were sent in all`,
  )
  const lineage = page.getByRole('region', { name: 'Lineage' })
  await lineage.getByText('Registered here').waitFor()
  await lineage.getByRole('link', { name: 'model.bin' }).click()
  await page.getByRole('heading', { name: `Model ${model.model_id.slice(0, 8)}` }).waitFor()
  await page.getByText(model.model_sha256).waitFor()
  await page.getByText('This model has not been sent.').waitFor()
  await page.getByRole('link', { name: '← rain' }).click()
  await page.getByRole('heading', { name: 'rain' }).waitFor()
  t.same(
    complaints.filter((text) => !/ERR_(EMPTY_RESPONSE|CONNECTION|SOCKET)/.test(text)),
    [],
  )
})

t.test('console: shows the outbox while it delivers to a second gateway', { skip }, async (t) => {
  const dir = t.testdir()
  const settings = { sync: LOCAL_SYNC }
  const edge = await startGateway(t, { settings, dataDir: path.join(dir, 'edge') })
  const upstream = await startGateway(t, { settings, dataDir: path.join(dir, 'upstream') })
  const view = await openConsole(await startBrowser(t), edge.url)
  const { page, goTo, complaints } = view
  await signIn(view, edge.admin)
  await edge.call('/api/v2/model_store/jsonrpc', 'model_store.create', { model_store_ddc: 'rain' })
  await goTo('#/outbox')
  await page.getByText('New upstream of models').click()
  const form = page.locator('details[open]')
  await form.getByLabel('Address of the upstream gateway').fill(`${upstream.url}/api/v2/fl/jsonrpc`)
  await form.getByLabel('API key of the upstream').fill(upstream.admin.apiKey)
  await form.getByLabel('Secret of the upstream key').fill('wrong')
  await form.getByLabel('Model store of the upstream').fill('rain')
  await form.getByLabel('Alias').fill('office')
  await form.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('cell', { name: 'office' }).waitFor()
  await goTo('#/models/rain')
  await page.getByLabel('File', { exact: true }).setInputFiles({
    ...{ name: 'model.bin', mimeType: 'application/octet-stream' },
    buffer: randomBytes(200_000),
  })
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('Stored as model').waitFor()
  await goTo('#/outbox')
  const outbox = page.getByRole('region', { name: 'Models' })
  await outbox
    .getByText(/waiting|failed/)
    .first()
    .waitFor() // the secret is wrong
  const [info] = (await edge.call('/api/v2/fl/jsonrpc', 'fl.list_upstream_info', {})).body.result
  await edge.call('/api/v2/fl/jsonrpc', 'fl.update_upstream_info', {
    id: info.id,
    upstream_secret: upstream.admin.secret,
  })
  const retry = outbox.getByRole('button', { name: 'Retry now' })
  // it may go by itself before anybody asks
  await retry.or(outbox.getByText('delivered')).first().waitFor()
  if ((await retry.count()) > 0) await retry.click({ timeout: 5000 }).catch(() => undefined)
  await outbox.getByText('delivered').waitFor()
  t.equal((await modelsOf(upstream)).length, 1)
  await outbox.getByRole('link').first().click()
  await page.getByRole('heading', { name: /^Model [0-9a-f]{8}$/ }).waitFor()
  t.same(complaints, [])
})
