import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { bodyOf, createS3Client } from '../../../src/files/s3/client.js'
import { hubCli, makeHub, noHub, startEngines } from '../../support/hub.js'
import { swiftOptions } from '../../support/swift.js'

const skip = noHub()

interface Report {
  state: string
  checks: { name: string; state: string; findings: { message: string; advice: string | null }[] }[]
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
