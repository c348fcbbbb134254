import { createHash, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createBlobStore } from '../../../src/files/blob-store.js'
import { createReleaseStage, type ReleaseDeps } from '../../../src/fleet/member/stage-release.js'
import { stagedPaths } from '../../../src/update/staged.js'
import { privateKey, signatureOf, TARGET, trusted } from '../../support/releases.js'

/** A gateway of version 1.1.0 to which a hub sends releases. */
function gateway(t: Test, more: Partial<ReleaseDeps> = {}) {
  const root = t.testdir({ tmp: {} })
  const held = createBlobStore({ dir: path.join(root, 'held'), tempDir: path.join(root, 'tmp') })
  const dir = path.join(root, 'fleet', 'release')
  const warnings: unknown[] = []
  const deps: ReleaseDeps = {
    ...{ refusal: null, publicKey: trusted, target: TARGET, running: '1.1.0', dir, held },
    rolledBack: () => undefined,
    progressOf: () => '7 of 9 bytes of the file are here',
    log: { info: () => undefined, warn: (line: unknown) => warnings.push(line) } as ReleaseDeps['log'],
    ...more,
  }
  const download = async (bytes: Buffer) => {
    const staged = await held.stage(
      (async function* () {
        yield bytes
      })(),
    )
    await staged.keep()
  }
  return { root, dir, held, warnings, deps, download, stage: createReleaseStage(deps) }
}

function releaseOf(version: string, { target = TARGET, key = privateKey } = {}) {
  const bytes = Buffer.from(`program of ${version}`)
  const digest = createHash('sha256').update(bytes).digest('hex')
  return { bytes, release: { version, digest, signature: signatureOf(version, bytes, key, target) } }
}

const profileOf = (release: object) => ({ releases: { [TARGET]: release } }) as object

t.test('releases: one is staged when it was downloaded, until it runs', async (t) => {
  const { dir, held, deps, download, stage } = gateway(t)
  const { bytes, release } = releaseOf('1.2.0')
  const { release: file, signature } = stagedPaths(dir)
  const item = `release ${TARGET}`
  t.same(await stage.stage(profileOf(release)), [
    { item, state: 'waiting', reason: '7 of 9 bytes of the file are here' },
  ])
  t.notOk(existsSync(dir))
  await download(bytes)
  const staged = { item, state: 'staged', reason: 'version 1.2.0 waits for `fieldgate update --staged`' }
  t.same(await stage.stage(profileOf(release)), [staged])
  t.same([readFileSync(file), readFileSync(signature, 'utf8')], [bytes, release.signature])
  t.same(
    [file, signature].map((one) => statSync(one).mode & 0o777),
    [0o600, 0o600],
  )
  t.equal(statSync(file).nlink, 1, 'it is kept once')
  const { ino } = statSync(file)
  t.same(await stage.stage(profileOf(release)), [staged], 'a repeat changes nothing')
  t.equal(statSync(file).ino, ino)
  t.same(await createReleaseStage(deps).stage(profileOf(release)), [staged], 'also after a restart')

  const next = releaseOf('1.3.0')
  await download(next.bytes)
  t.match(await stage.stage(profileOf(next.release)), [{ state: 'staged', reason: /1\.3\.0/ }])
  t.same(readFileSync(file), next.bytes)
  const running = createReleaseStage({ ...deps, running: '1.3.0' })
  t.same(await running.stage(profileOf(next.release)), [{ item, state: 'applied', reason: null }])
  t.same(
    [file, signature].map((one) => existsSync(one)),
    [false, false],
  )
  t.equal(await held.localFile(next.release.digest), undefined)
})

t.test('releases: what cannot be taken is refused before it is downloaded, each by its reason', async (t) => {
  const stranger = generateKeyPairSync('ed25519').privateKey
  const { release } = releaseOf('1.2.0')
  const cases: [reason: RegExp, wanted: object, more?: Partial<ReleaseDeps>][] = [
    [/no releases from its hub/, release, { refusal: 'this gateway takes no releases from its hub' }],
    [/update\.publicKey is not set/, release, { publicKey: undefined }],
    [/not made with the key of update\.publicKey/, releaseOf('1.2.0', { key: stranger }).release],
    [
      /found a release for linux-mips, expected one for/,
      releaseOf('1.2.0', { target: 'linux-mips' }).release,
    ],
    [/found version 1\.0\.9, expected one newer than 1\.1\.0/, releaseOf('1.0.9').release],
    [/expected the lines of fieldgate-release-1/, { ...release, signature: 'x' }],
    [/found the signature of version 1\.2\.0, expected that of 1\.3\.0/, { ...release, version: '1.3.0' }],
    [
      /found the signature of the file [0-9a-f]+, expected that of abab/,
      { ...release, digest: 'ab'.repeat(32) },
    ],
  ]
  for (const [reason, wanted, more] of cases) {
    const { stage, dir, warnings } = gateway(t, more)
    t.match(await stage.stage(profileOf(wanted)), [{ state: 'refused', reason }])
    t.same([existsSync(dir), warnings], [false, []])
  }
})

t.test('releases: what is staged goes when the profile wants none, another one or a wrong one', async (t) => {
  const { bytes, release } = releaseOf('1.2.0')
  for (const profile of [
    {},
    profileOf({ ...release, signature: 'x' }),
    { releases: { 'linux-mips': release } },
  ]) {
    const { stage, dir, download } = gateway(t)
    await download(bytes)
    t.match(await stage.stage(profileOf(release)), [{ state: 'staged' }])
    await stage.stage(profile)
    t.same(
      Object.values(stagedPaths(dir)).map((one: string) => existsSync(one)),
      [false, false],
    )
  }
  const { stage, dir, download } = gateway(t)
  await download(bytes)
  await stage.stage(profileOf(release))
  await stage.drop()
  t.notOk(existsSync(stagedPaths(dir).signature))
})

t.test('releases: one that was rolled back is told, and kept for another try', async (t) => {
  const { bytes, release } = releaseOf('1.2.0')
  const { stage, deps, dir, download } = gateway(t)
  await download(bytes)
  await stage.stage(profileOf(release))
  const failed = createReleaseStage({ ...deps, rolledBack: (sha256) => `${sha256 === release.digest} crash` })
  t.match(await failed.stage(profileOf(release)), [{ state: 'rolled_back', reason: 'true crash' }])
  t.ok(existsSync(stagedPaths(dir).signature))
})

t.test('releases: other bytes in their place are replaced, also of the same size', async (t) => {
  const { bytes, release } = releaseOf('1.2.0')
  const { stage, deps, dir, download } = gateway(t)
  const { release: file } = stagedPaths(dir)
  await download(bytes)
  await stage.stage(profileOf(release))
  for (const other of [Buffer.alloc(bytes.length), Buffer.from('short')]) {
    writeFileSync(file, other)
    const restarted = createReleaseStage(deps)
    t.match(await restarted.stage(profileOf(release)), [{ state: 'waiting' }], 'it is downloaded again')
    await download(bytes)
    t.match(await restarted.stage(profileOf(release)), [{ state: 'staged' }])
    t.same(readFileSync(file), bytes)
  }
})

t.test('releases: a fault of the disk makes the release wait, and throws nothing', async (t) => {
  const { bytes, release } = releaseOf('1.2.0')
  const { stage, root, dir, download, warnings } = gateway(t)
  await download(bytes)
  mkdirSync(path.dirname(dir))
  writeFileSync(dir, 'a file in the place of the folder')
  t.match(await stage.stage(profileOf(release)), [{ state: 'waiting', reason: /could not be staged: .*/ }])
  t.same(await stage.stage({}), [])
  t.equal(warnings.length, 1)
  const linked = gateway(t)
  mkdirSync(linked.dir, { recursive: true })
  symlinkSync(path.join(root, 'x'), stagedPaths(linked.dir).signature)
  t.match(await linked.stage.stage(profileOf(release)), [{ reason: /could not be staged: .*fieldgate\.sig/ }])
  const broken = gateway(t, {
    rolledBack: () => {
      throw new Error('the record cannot be read')
    },
  })
  t.match(await broken.stage.stage(profileOf(release)), [{ state: 'waiting', reason: /the record cannot/ }])
})

t.test('releases: a file of another size than signed is not staged', async (t) => {
  const { bytes, release } = releaseOf('1.2.0')
  const { stage, root, dir } = gateway(t, {
    held: { localFile: async () => path.join(root, 'short'), remove: async () => undefined },
  })
  writeFileSync(path.join(root, 'short'), bytes.subarray(1))
  t.match(await stage.stage(profileOf(release)), [
    { state: 'refused', reason: /bytes, expected \d+ as signed/ },
  ])
  t.notOk(existsSync(dir))
})
