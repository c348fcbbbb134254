import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { loadConfig, type Settings } from '../../../../src/config/config.js'
import { layoutOf } from '../../../../src/files/layout.js'
import { bodyOf, createS3Client } from '../../../../src/files/s3/client.js'
import { LOADER_PATH } from '../../../../src/gateway/apis.js'
import { examineHub } from '../../../../src/gateway/hub/doctor/examine.js'
import { hubCall, hubCli, makeHub, noHub, serveHub, startEngines } from '../../../support/hub.js'
import { pairHeaders } from '../../../support/start-gateway.js'
import { swiftOptions } from '../../../support/swift.js'

const skip = noHub()

interface Report {
  state: string
  checks: { name: string; state: string; findings: { message: string; advice: string | null }[] }[]
}

const PHOTO = {
  ...{ data_name: 'seen', unique_columns: ['k'] },
  record_def: {
    k: { udt_name: 'int4' },
    photo: {
      ...{ udt_name: 'file', is_nullable: true, file_name_column: 'n', file_type_column: 't' },
      ...{ file_prefixid_column: 'p', file_pathid_column: 'i', file_relativepath_property: 'r' },
    },
    n: { udt_name: 'text', is_nullable: true },
    t: { udt_name: 'text', is_nullable: true },
    p: { udt_name: 'int4', is_nullable: true },
    i: { udt_name: 'text', is_nullable: true },
  },
}

t.test(
  'hub doctor: names the files of rows that are gone, and objects that no row names',
  { skip },
  async (t) => {
    const engines = await startEngines(t)
    const place = await makeHub(t, engines)
    const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
    const hub = await serveHub(t, place, 'one')
    const call = async (method: string, params: unknown) => {
      const { body } = await hubCall(hub, admin, LOADER_PATH, `loaderwebapi.${method}`, params)
      t.equal(body.error, undefined, JSON.stringify(body.error))
    }
    await call('register_loader', PHOTO)
    const photo = randomBytes(500)
    const properties = { k: 1, photo: photo.toString('base64'), n: 'x.jpg', t: 'image/jpeg' }
    await call('add_record', {
      data_name: 'seen',
      record_set: [{ type: 'Feature', geometry: null, properties }],
    })
    await hub.stop()
    const client = createS3Client(swiftOptions(engines.swift, place.bucket))
    t.teardown(() => client.close())
    const sha256 = createHash('sha256').update(photo).digest('hex')
    const loaded = loadConfig(null, {}, settingsOf(place.config))
    if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
    const examine = async (laterMs: number) => {
      const checks = await examineHub({
        ...{
          config: loaded.config,
          layout: layoutOf(path.join(place.dir, 'verbs'), loaded.config.encryption.keyFile),
        },
        ...{ readsBytes: true, nowMs: () => Date.now() + laterMs, onProgress: () => undefined },
      })
      return (name: string) => checks.find((check) => check.name === name)
    }
    const none = '0'.repeat(64)
    for (const folder of ['models', 'datasets', 'files', 'fleet'])
      (
        await client.send({ method: 'PUT', key: `fieldgate/${folder}/${none}`, body: bodyOf(photo) })
      )?.resume()
    const young = await examine(0)
    t.match(young('files of rows'), {
      state: 'ok',
      findings: [{ message: /^1 of the kind "file of a row" have their bytes with/ }],
    })
    const later = await examine(2 * 3_600_000)
    for (const [name, folder] of [
      ...[
        ['models', 'models'],
        ['citations', 'datasets'],
        ['files', 'fleet'],
        ['files of rows', 'files'],
      ],
    ])
      t.match(later(name as string), {
        state: 'warning',
        findings: [{}, { message: `no row names 1 objects: ${folder}/${none}` }],
      })
    ;(await client.send({ method: 'DELETE', key: `fieldgate/files/${sha256}` }))?.resume()
    const lost = await examine(0)
    t.match(lost('files of rows'), {
      state: 'error',
      findings: [{ message: `file of a row ${sha256}: found no bytes` }],
    })
  },
)

/** Settings of a hub, with the names of its files from the root on. */
function settingsOf(file: string): Settings {
  const settings = JSON.parse(readFileSync(file, 'utf8'))
  const at = (name: string) => path.join(path.dirname(file), name)
  settings.encryption.keyFile = at(settings.encryption.keyFile)
  for (const name of ['accessKeyFile', 'secretKeyFile'])
    settings.hub.bytes[name] = at(settings.hub.bytes[name])
  return settings
}

t.test('hub doctor: names what a hub lacks, and each file without its bytes', { skip }, async (t) => {
  const engines = await startEngines(t)
  const place = await makeHub(t, engines)
  const examine = async (...flags: string[]) => {
    const { code, stdout } = await hubCli(place, 'hub', 'doctor', '--json', ...flags)
    const report = JSON.parse(stdout) as Report
    return { code, of: (name: string) => report.checks.find((check) => check.name === name) }
  }
  const early = await examine()
  t.equal(early.code, 2)
  t.match(early.of('database'), { state: 'error', findings: [{ message: /hub init/ }] })

  await hubCli(place, 'hub', 'init')
  const digests: string[] = []
  for (const name of ['a', 'b', 'c']) {
    writeFileSync(path.join(place.dir, name), randomBytes(1000))
    const added = await hubCli(place, 'fleet', 'file', 'add', name, '--json')
    digests.push((JSON.parse(added.stdout) as { sha256: string }).sha256)
  }
  const good = await examine()
  t.equal(good.code, 0)
  t.match(good.of('files')?.findings, [
    { message: /^3 of the kind "file of a profile" have their bytes with/ },
  ])
  t.match(good.of('objects'), { state: 'ok' })
  t.match(good.of('maps'), { state: 'ok', findings: [{ message: /there is no map/ }] })
  t.match(good.of('clock'), { state: 'ok' })

  const client = createS3Client(swiftOptions(engines.swift, place.bucket))
  t.teardown(() => client.close())
  const [gone = '', changed = '', short = ''] = digests
  const key = (sha256: string) => `fieldgate/fleet/${sha256}`
  ;(await client.send({ method: 'DELETE', key: key(gone) }))?.resume()
  ;(await client.send({ method: 'PUT', key: key(changed), body: bodyOf(randomBytes(1000)) }))?.resume()
  ;(await client.send({ method: 'PUT', key: key(short), body: bodyOf(randomBytes(10)) }))?.resume()
  const bad = await examine()
  t.equal(bad.code, 2)
  const messages = bad.of('files')?.findings.map(({ message }) => message) ?? []
  t.match(
    messages.find((text) => text.includes(gone)),
    /found no bytes/,
  )
  t.match(
    messages.find((text) => text.includes(changed)),
    /SHA-256|digest/,
  )
  t.match(
    messages.find((text) => text.includes(short)),
    /found 10 bytes, expected 1000/,
  )
  const sizes = (await examine('--sizes')).of('files')?.findings ?? []
  t.equal(sizes.length, 2, 'sizes alone do not show changed bytes')
})
