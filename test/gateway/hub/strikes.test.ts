import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { bodyOf, createS3Client } from '../../../src/files/s3/client.js'
import { LOADER_PATH, MODEL_STORE_PATH } from '../../../src/gateway/apis.js'
import { DEFINITION, MAP, queryOf } from '../../support/feeds.js'
import { type HubPlace, hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../support/hub.js'
import { DATA } from '../../support/models.js'
import { ROLE } from '../../support/postgres.js'
import { cannotMount, smallDisk } from '../../support/small-disk.js'
import { pairHeaders } from '../../support/start-gateway.js'
import { swiftOptions } from '../../support/swift.js'

/** Rows of a call: 2 MB, so that some calls fill the disk. */
const CALL_ROWS = 2000
const NOTE = 'x'.repeat(1000)

const rowsFrom = (first: number) =>
  Array.from({ length: CALL_ROWS }, (_, at) => ({
    ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [139, 35] } },
    properties: { k: first + at, note: NOTE },
  }))

async function startHub(t: Test, place: HubPlace) {
  const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
  const hub = await serveHub(t, place, 'one')
  return { hub, admin }
}

t.test('hub: what engines do to it', { skip: noHub() }, async (t) => {
  const engines = await startEngines(t)

  await t.test('the disk of the database is full', { skip: cannotMount }, async (t) => {
    const disk = smallDisk(t, '48m')
    const folder = path.join(disk.dir, 'rows')
    mkdirSync(folder)
    spawnSync('chown', ['postgres', folder])
    await engines.postgres.admin(`CREATE TABLESPACE small LOCATION '${folder}'`)
    const database = 'small_hub'
    await engines.postgres.admin(`CREATE DATABASE ${database} TABLESPACE small OWNER ${ROLE}`)
    const { hub, admin } = await startHub(t, await makeHub(t, engines, { database }))
    const add = (first: number) =>
      hubCall(hub, admin, LOADER_PATH, 'loaderwebapi.add_record', {
        ...{ data_name: 'seen', record_set: rowsFrom(first) },
      })
    const keys = async () => {
      const { body } = await hubCall(hub, admin, MAP, 'mapserv.eventdata', [queryOf(['k'])])
      return body.result.features.map(({ properties }: { properties: { k: number } }) => properties.k)
    }
    const stored = (count: number) => Array.from({ length: count * CALL_ROWS }, (_, k) => k)
    await hubCall(hub, admin, LOADER_PATH, 'loaderwebapi.register_loader', DEFINITION)
    t.match(await add(0), { status: 200 })
    disk.fill()
    let [calls, answer] = [1, await add(CALL_ROWS)]
    for (; answer.status === 200 && calls < 40; calls++) answer = await add((calls + 1) * CALL_ROWS)
    t.match(answer, { status: 507, body: { error: { data: { name: 'DISK_FULL' } } } })
    t.same(
      (await keys()).toSorted((a: number, b: number) => a - b),
      stored(calls),
      'reads go on',
    )
    t.equal((await fetch(`${hub.url}/healthz`)).status, 200)
    for (const name of readdirSync(disk.dir).filter((name) => name.startsWith('fill-')))
      rmSync(path.join(disk.dir, name))
    t.match(await add(calls * CALL_ROWS), { status: 200 }, 'the refused call is repeated')
    t.same(
      (await keys()).toSorted((a: number, b: number) => a - b),
      stored(calls + 1),
    )
    await hub.stop()
    await engines.postgres.admin(`DROP DATABASE ${database} WITH (FORCE)`)
    await engines.postgres.admin('DROP TABLESPACE small')
  })

  await t.test('the bucket answers with other bytes', async (t) => {
    const place = await makeHub(t, engines)
    const { hub, admin } = await startHub(t, place)
    const client = createS3Client(swiftOptions(engines.swift, place.bucket))
    t.teardown(() => client.close())
    const bytes = randomBytes(300_000)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const put = async () => {
      const form = new FormData()
      form.set('data', JSON.stringify(DATA))
      form.set('file', new Blob([bytes]), 'model.dat')
      const url = `${hub.url}${MODEL_STORE_PATH}/upload/model_store.model.put`
      const response = await fetch(url, { method: 'POST', headers: admin, body: form })
      return (await response.json()) as { model_id: string }
    }
    const { model_id } = await put()
    const download = async (id: string) => {
      const response = await fetch(`${hub.url}/api/v2/model_store/models/${id}/file`, { headers: admin })
      const body = await response.arrayBuffer().then(
        (found) => createHash('sha256').update(new Uint8Array(found)).digest('hex'),
        () => 'cut',
      )
      return { status: response.status, body }
    }
    const replace = async (other: Buffer) => {
      const key = `fieldgate/models/${sha256}`
      ;(await client.send({ method: 'PUT', key, body: bodyOf(other) }))?.resume()
    }
    t.same(await download(model_id), { status: 200, body: sha256 })
    const cut = { status: 200, body: 'cut' }
    await replace(randomBytes(bytes.length))
    t.same(await download(model_id), cut, 'other bytes of the same length do not come to their end')
    await replace(bytes.subarray(0, 1000))
    t.same(await download(model_id), cut, 'nor do fewer')
    await put()
    t.same(await download(model_id), { status: 200, body: sha256 }, 'a put of the same bytes repairs it')
  })
})
