import { createHash } from 'node:crypto'
import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { listPlainFiles } from '../../../src/backup/names.js'
import { createBlobStore } from '../../../src/files/blob-store.js'
import { layoutOf } from '../../../src/files/layout.js'
import {
  addFile,
  type HubFilesDeps,
  removeFile,
  requireFiles,
  sweepFiles,
} from '../../../src/fleet/hub/files.js'
import { digestOf } from '../../../src/fleet/profile/digest.js'
import { Profile } from '../../../src/fleet/profile/schema.js'
import { FREE_LEASE } from '../../../src/storage/work/sweep-lease.js'
import { memoryState } from '../../support/memory-state.js'
import { privateKey, signatureOf } from '../../support/releases.js'
import { cli } from '../../support/run-cli.js'
import { pairHeaders, startGateway, type TestGateway } from '../../support/start-gateway.js'

const BYTES = Buffer.from('the bytes of a map')
const SHA256 = createHash('sha256').update(BYTES).digest('hex')
const NONE = 'ab'.repeat(32)

async function* sourceOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function hub(t: Test) {
  const state = await memoryState(t)
  const dir = t.testdir({ tmp: {} })
  const blobs = createBlobStore({ dir: path.join(dir, 'files'), tempDir: path.join(dir, 'tmp') })
  const deps: HubFilesDeps = { files: state.fleetFiles, blobs, lease: FREE_LEASE }
  const setProfile = async (profile: object) => {
    const body = Profile.parse(profile)
    return await state.fleetProfiles.add(
      { name: 'field', body, digest: digestOf(body), createdBy: null },
      null,
    )
  }
  return { state, deps, blobs, setProfile, add: () => addFile(deps, 'town', sourceOf(BYTES)) }
}

t.test('files of a hub: added twice they are kept once, with the last name', async (t) => {
  const { deps, add } = await hub(t)
  await add()
  t.match(await addFile(deps, 'other', sourceOf(BYTES)), { sha256: SHA256, name: 'other', sizeBytes: 18 })
  t.equal((await deps.files.list()).length, 1)
  await t.rejects(
    addFile(deps, 'none', sourceOf(Buffer.alloc(0))),
    /none: found no bytes, expected a map, a module or a release/,
  )
})

t.test('files of a hub: one that gateways have or can get is not removed', async (t) => {
  const { deps, blobs, add, setProfile } = await hub(t)
  await add()
  await setProfile({ maps: { town: SHA256 } })
  await t.rejects(removeFile(deps, SHA256), /the profile field names town .* in version 1/)
  await setProfile({})
  await t.rejects(removeFile(deps, SHA256), /in version 1/, 'the version before is that of others meanwhile')
  t.ok(await blobs.stat(SHA256))
  await setProfile({ relay: true })
  t.match(await removeFile(deps, SHA256), { name: 'town' })
  t.notOk(await blobs.stat(SHA256))
  await t.rejects(removeFile(deps, SHA256), /found the digest .*, expected that of a file of this hub/)
})

t.test(
  'files of a hub: a sweep removes what no row names, few of them, and not during a backup',
  async (t) => {
    const { deps, blobs, add } = await hub(t)
    await add()
    const leave = async (text: string) => (await blobs.stage(sourceOf(Buffer.from(text)))).keep()
    await leave('left behind')
    t.equal(await sweepFiles({ ...deps, lease: { ...FREE_LEASE, remove: async () => undefined } }), 0)
    const ended = {
      confirm: () => Promise.reject(new Error('the lease has ended')),
      release: async () => undefined,
    }
    const late = { ...deps, lease: { ...FREE_LEASE, remove: async () => ended } }
    await t.rejects(sweepFiles(late), /the lease has ended/, 'nor by a process that was frozen meanwhile')
    t.equal(await sweepFiles(deps), 1)
    for (let n = 0; n < 11; n++) await leave(`of another database ${n}`)
    t.equal(await sweepFiles(deps), 0)
    t.ok(await blobs.stat(SHA256))
  },
)

t.test('files of a hub: a profile with an unknown digest is refused by its place', async (t) => {
  const { deps, add } = await hub(t)
  await add()
  await requireFiles(deps.files, Profile.parse({ maps: { town: SHA256 } }))
  const wrong = Profile.parse({ maps: { town: SHA256, other: NONE } })
  await t.rejects(requireFiles(deps.files, wrong), {
    errorName: 'UNKNOWN_DIGEST',
    message: /^maps.other: found the digest ab.*expected that of a file of this hub/,
  })
})

t.test(
  'files of a hub: a profile with a release is refused unless its signature names that release',
  async (t) => {
    const { deps, add } = await hub(t)
    await add()
    const signature = signatureOf('1.2.0', BYTES, privateKey, 'linux-x64')
    const release = { version: '1.2.0', digest: SHA256, signature }
    const check = (releases: object) => requireFiles(deps.files, Profile.parse({ releases }))
    await check({ 'linux-x64': release })
    for (const [releases, message] of [
      [
        { 'linux-arm64': release },
        /releases\.linux-arm64\.signature: found a release for linux-x64, expected/,
      ],
      [{ 'linux-x64': { ...release, version: '1.3.0' } }, /found version 1\.2\.0, expected 1\.3\.0/],
      [{ 'linux-x64': { ...release, digest: NONE } }, /found that of the file .*, expected abab/],
      [{ 'linux-x64': { ...release, signature: 'x' } }, /expected the lines of fieldgate-release-1/],
    ] as const)
      await t.rejects(check(releases), { errorName: 'BAD_SIGNATURE', message })
    const other = Buffer.from('not here')
    const missing = { version: '1.2.0', digest: createHash('sha256').update(other).digest('hex') }
    await t.rejects(
      check({ 'linux-x64': { ...missing, signature: signatureOf('1.2.0', other, privateKey, 'linux-x64') } }),
      { errorName: 'UNKNOWN_DIGEST', message: /releases\.linux-x64: found the digest/ },
    )
  },
)

/** Requests a file. */
async function get(
  { url, admin }: TestGateway,
  sha256: string,
  headers: Record<string, string> = {},
  { key = admin, method = 'GET' } = {},
) {
  const response = await fetch(`${url}/api/v2/fleet/files/${sha256}`, {
    method,
    headers: { ...pairHeaders(key), ...headers },
  })
  const { status, headers: found } = response
  return { status, found, bytes: Buffer.from(await response.arrayBuffer()) }
}

t.test('files of a hub: over HTTP with ranges, and on the command line', async (t) => {
  const gateway = await startGateway(t)
  const dir = path.dirname(gateway.dataDir)
  const run = (...argv: string[]) => cli(dir, ['fleet', 'file', ...argv, '--data-dir', gateway.dataDir])
  writeFileSync(path.join(dir, 'town.graph'), BYTES)
  t.match(await run('add', path.join(dir, 'none')), { code: 1, stderr: /none: the file does not exist/ })
  t.match(await run('add', path.join(dir, 'town.graph')), {
    code: 0,
    stdout: `${SHA256}  town.graph  18 B\n`,
  })
  t.match(await run('list'), { stdout: `${SHA256}  town.graph  18 B\n` })

  const all = await get(gateway, SHA256)
  t.same(all.bytes, BYTES)
  t.match([all.status, all.found.get('etag'), all.found.get('accept-ranges')], [200, `"${SHA256}"`, 'bytes'])
  const head = await get(gateway, SHA256, {}, { method: 'HEAD' })
  t.match([head.status, head.found.get('content-length'), head.bytes.length], [200, '18', 0])
  const part = await get(gateway, SHA256, { Range: 'bytes=4-8', 'If-Range': `"${SHA256}"` })
  t.match([part.status, String(part.bytes), part.found.get('content-range')], [206, 'bytes', 'bytes 4-8/18'])
  t.equal((await get(gateway, SHA256, { Range: 'bytes=4-', 'If-Range': `"${NONE}"` })).status, 200)
  t.equal((await get(gateway, SHA256, { 'If-None-Match': `"${SHA256}"` })).status, 304)
  for (const Range of ['bytes=18-', 'bytes=-0', 'bytes=99999999999999999999-'])
    t.equal((await get(gateway, SHA256, { Range })).status, 416, Range)
  for (const Range of ['bytes=5-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=--1', 'bytes=0x1-'])
    t.equal((await get(gateway, SHA256, { Range })).status, 200, Range)

  t.equal((await get(gateway, NONE)).status, 404)
  t.equal((await get(gateway, 'x')).status, 400)
  t.equal((await get(gateway, '..%2f..%2fsecret.key')).status, 400)
  const foreign = { key: await gateway.makeKey(['fleet:member', 'sync:read']) }
  for (const sha256 of [SHA256, NONE]) t.equal((await get(gateway, sha256, {}, foreign)).status, 403)
  t.equal((await get(gateway, SHA256, {}, { key: await gateway.makeKey(['model:read']) })).status, 403)

  const layout = layoutOf(gateway.dataDir)
  for (const dir of [layout.fleetHeldDir, layout.fleetPartsDir])
    writeFileSync(path.join(dir, 'x'), 'of a member')
  const inBackup = listPlainFiles(layout).map((plain) => plain.path)
  t.same(inBackup, [`fleet/files/${SHA256.slice(0, 2)}/${SHA256}`], 'what a member holds is in no backup')

  const file = path.join(gateway.dataDir, 'fleet', 'files', SHA256.slice(0, 2), SHA256)
  writeFileSync(file, Buffer.from(BYTES).fill(0, 0, 1))
  await t.rejects(get(gateway, SHA256), 'the connection breaks before the last bytes of other ones')
  truncateSync(file, 3)
  const damaged = await get(gateway, SHA256)
  t.match([damaged.status, String(damaged.bytes)], [500, /damaged.*found 3 bytes, expected 18/])
  t.match(await run('list'), { stdout: /DAMAGED: add it again/ })
  rmSync(file)
  t.match(JSON.parse((await run('list', '--json')).stdout), [{ sha256: SHA256, isKept: false }])
  t.match(await run('remove', SHA256), { code: 0, stdout: /town.graph .* is removed/ })
  t.match(await run('remove', SHA256), { code: 1, stderr: /expected that of a file of this hub/ })
  t.match(await run('remove', 'x'), { code: 2, stderr: /64 hex digits/ })
})
