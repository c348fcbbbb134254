import { randomBytes } from 'node:crypto'
import path from 'node:path'
import t from 'tap'
import { openState } from '../../src/storage/sqlite/state.js'
import { applied, introduce, startBundleNode } from '../support/bundles.js'
import { connect, FL, modelsOf, putModel } from '../support/models.js'

interface Transfer {
  kind: string
  state: string
}

t.test('bundles: models arrive once with their origin, and are acknowledged', async (t) => {
  const dir = t.testdir()
  const [van, base] = [await startBundleNode(t, dir, 'van'), await startBundleNode(t, dir, 'base')]
  await introduce(dir, van, base)
  const fileOf = (name: string) => path.join(dir, name)
  // nothing listens there: the models wait
  const down = { url: 'http://127.0.0.1:9', admin: base.gateway.admin }
  await connect(van.gateway, down)
  await van.run(['sync', 'pause'])
  const meta = { n: 12345678901234567890n.toString(), 'x y': [1.5, null] }
  const bytes = randomBytes(200_000)
  const put = await putModel(van.gateway, new Uint8Array(bytes), { data: { model_meta: meta } })
  await putModel(van.gateway, new Uint8Array(randomBytes(10)), { data: { model_kind: 'small' } })
  for (const id of [put.body.model_id])
    await van.gateway.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: id })
  const transfers = async () =>
    (await van.gateway.call(FL, 'fl.list_transfers', {})).body.result as Transfer[]
  const before = await transfers()
  t.ok(before.length > 0 && before.every(({ state }) => state === 'queued'))

  t.match(await van.bundle(['write', fileOf('0')]), /base: 0 rows, 0 models/, 'no endpoint is known for base')
  await van.bundle(['peer', 'remove', 'base'])
  await van.bundle(['peer', 'add', 'base', '--key-file', fileOf('base.identity'), '--endpoint', down.url])
  const [written] = JSON.parse(await van.bundle(['write', fileOf('1'), '--json']))
  t.equal(written.models, before.length)
  t.match(await applied(base, fileOf('1')), {
    bundles: [{ models: { taken: before.length, known: 0, refused: [] } }],
  })
  t.match(await applied(base, fileOf('1')), { bundles: [{ models: { taken: 0, known: before.length } }] })
  const [model] = (await modelsOf(base.gateway)).filter(({ model_kind }) => model_kind === 'k')
  t.match(model, {
    ...{ model_state: 20, model_meta: meta, model_size: 200_000, hop_count: 1, tenant_id: 'van' },
    model_sha256: put.body.model_sha256,
  })
  t.equal((await modelsOf(base.gateway)).length, before.length)

  await base.bundle(['write', fileOf('back')])
  t.match(await applied(van, fileOf('back')), { bundles: [{ acknowledged: { models: before.length } }] })
  t.ok((await transfers()).every(({ state }) => state === 'delivered'))
  t.match(await applied(van, fileOf('back')), { bundles: [{ acknowledged: { models: 0 } }] }, 'again')
  t.match(await van.bundle(['write', fileOf('2')]), /base: 0 rows, 0 models/)
  await applied(base, fileOf('2'))
  await base.bundle(['write', fileOf('back2')])
  const state = await openState(path.join(dir, 'base', 'state.db'))
  t.equal(
    state.stateDb.db.prepare('SELECT count(*) FROM bundle_news').pluck().get(),
    0,
    'news end with an answer',
  )
  await state.close()
})

t.test('bundles: doctor tells of one that nobody acknowledges', async (t) => {
  const dir = t.testdir()
  const [van, base] = [await startBundleNode(t, dir, 'van'), await startBundleNode(t, dir, 'base')]
  await introduce(dir, van, base)
  await van.bundle(['peer', 'remove', 'base'])
  await van.bundle([
    'peer',
    'add',
    'base',
    '--key-file',
    path.join(dir, 'base.identity'),
    '--endpoint',
    'http://127.0.0.1:9',
  ])
  await connect(van.gateway, { url: 'http://127.0.0.1:9', admin: base.gateway.admin })
  await van.run(['sync', 'pause'])
  const put = await putModel(van.gateway, new Uint8Array(10))
  await van.gateway.call(FL, 'fl.feedback', { model_store_ddc: 'rain', model_id: put.body.model_id })
  const finding = async () => {
    const { checks } = JSON.parse(
      (await van
        .run(['doctor', '--offline', '--json'])
        .catch((error) => /\{.*\}/s.exec(error.message)?.[0])) as string,
    )
    return checks.find(({ name }: { name: string }) => name === 'bundles').findings[0]
  }
  t.match(await finding(), { state: 'ok', message: /^no bundle waits/ })
  await van.bundle(['write', path.join(dir, '1')])
  t.match(await finding(), { state: 'ok', message: /^1 bundle for base not acknowledged/ })
  const state = await openState(path.join(dir, 'van', 'state.db'))
  state.stateDb.db.exec('UPDATE bundle_written SET written_at_us = written_at_us - 8 * 86400000000')
  await state.close()
  t.match(await finding(), { state: 'warning', message: /1 bundle for base/, advice: /apply them there/ })
  await applied(base, path.join(dir, '1'))
  await base.bundle(['write', path.join(dir, 'back')])
  await applied(van, path.join(dir, 'back'))
  t.match(await finding(), { state: 'ok', message: /^no bundle waits/ })
})
