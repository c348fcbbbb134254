import { createHash, generateKeyPairSync } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { layoutOf } from '../../../src/files/layout.js'
import { stagedPaths } from '../../../src/update/staged.js'
import { copyRelease, placesOf } from '../../../src/update/switch.js'
import { type Habits, OLD, type Place, place, program, signatureOf } from '../../support/releases.js'
import { cli } from '../../support/run-cli.js'

interface Staging extends Place {
  release_: string
  sig: string
  /** puts a release where the member stages it */
  stage(version: string, habits?: Habits): void
  /** runs `update --staged` */
  staged(...argv: string[]): ReturnType<typeof cli>
}

function staging(t: Test, settings: object = {}): Staging {
  const at = place(t, settings)
  const data = path.join(at.dir, 'data')
  const { release, signature } = stagedPaths(layoutOf(data).fleetReleaseDir)
  mkdirSync(path.dirname(release), { recursive: true })
  const executable = path.join(at.dir, 'bin/fieldgate')
  return {
    ...at,
    release_: release,
    sig: signature,
    stage(version, habits = {}) {
      const bytes = Buffer.from(program(version, habits))
      writeFileSync(release, bytes, { mode: 0o600 })
      writeFileSync(signature, signatureOf(version, bytes))
    },
    staged: (...argv) =>
      cli(at.dir, ['update', '--staged', '--executable', executable, '--data-dir', data, ...argv], {
        PATH: process.env.PATH,
      }),
  }
}

t.test('update --staged: installs what is staged, once', async (t) => {
  const at = staging(t)
  t.match(await at.staged(), { code: 0, stdout: 'Nothing is installed: no release is staged\n' })
  at.stage('1.1.0')
  const run = await at.staged('--json')
  t.match([run.code, JSON.parse(run.stdout)], [0, { version: '1.1.0' }], run.stderr)
  t.equal(at.installed(), '1.1.0')
  const again = await at.staged('--json')
  t.match(
    [again.code, JSON.parse(again.stdout)],
    [0, { version: null, reason: /1\.1\.0 is staged, and 1\.1\.0 runs/ }],
  )
})

t.test('update --staged: a release that was rolled back is not installed again by itself', async (t) => {
  const at = staging(t)
  at.stage('1.1.0', { serves: 'crashes' })
  t.match(await at.staged(), { code: 1, stderr: /1\.1\.0 does not work here .*: 1\.0\.0 was restored/ })
  t.equal(at.installed(), OLD)
  const next = await at.staged()
  t.match(next, {
    code: 0,
    stdout: /^Nothing is installed: version 1\.1\.0 was rolled back at .*--again installs it/,
  })
  t.match(await at.staged('--again'), { code: 1, stderr: /does not work here/ }, 'an operator may try again')
  at.stage('1.2.0')
  const other = await at.staged()
  t.equal(other.code, 0, `another release is tried ${other.stderr}`)
  t.equal(at.installed(), '1.2.0')
  t.same(at.left(), ['fieldgate', 'fieldgate.previous', 'fieldgate.rolled-back'], 'nothing is left behind')
  const record = path.join(at.dir, 'bin/fieldgate.rolled-back')
  t.equal(statSync(record).mode & 0o777, 0o644, 'the user of the gateway reads it')
  t.match(JSON.parse(readFileSync(record, 'utf8')), [{ version: '1.1.0', reason: /it ended with 3/ }])
  t.equal(JSON.parse(readFileSync(record, 'utf8')).length, 1)

  const back = await cli(at.dir, ['update', '--back', '--executable', path.join(at.dir, 'bin/fieldgate')])
  t.match([back.code, at.installed()], [0, OLD], back.stderr)
  t.match(await at.staged(), { code: 0, stdout: /1\.2\.0 was rolled back at .*an operator took it back/ })
  t.equal((await at.staged('--again')).code, 0)
  t.notMatch(readFileSync(record, 'utf8'), /1\.2\.0/, 'what works now is forgotten')
  rmSync(at.sig)
  const none = await at.staged('--again')
  t.match(none, { code: 0, stdout: /no release is staged; any may be staged again/ })
  t.same(JSON.parse(readFileSync(record, 'utf8')), [])
  writeFileSync(record, '{}')
  at.stage('1.3.0')
  t.match(await at.staged(), { code: 1, stderr: /rolled-back: found another form, expected the list/ })
})

t.test('update --staged: refuses other files than the signed one, and links', async (t) => {
  const cases: [title: string, message: RegExp, change: (at: Staging) => void][] = [
    ['a link', /fieldgate: found a symbolic link, expected a regular file/, (at) => linked(at.release_)],
    ['a link as signature', /fieldgate\.sig: found a symbolic link/, (at) => linked(at.sig)],
    [
      'a folder',
      /fieldgate: found no regular file, expected one/,
      (at) => {
        rmSync(at.release_)
        mkdirSync(at.release_)
      },
    ],
    ['no release', /fieldgate: found no file, expected the release of/, (at) => rmSync(at.release_)],
    ['a truncated one', /found 20 bytes of sha256/, (at) => truncateSync(at.release_, 20)],
    [
      'a longer one',
      /found more bytes of sha256/,
      (at) => writeFileSync(at.release_, ' '.repeat(50), { flag: 'a' }),
    ],
    ['a long signature', /found more than 4096 bytes/, (at) => writeFileSync(at.sig, 'x'.repeat(5000))],
    [
      'another key',
      /the signature was not made with the key of update\.publicKey/,
      (at) =>
        writeFileSync(
          at.sig,
          signatureOf('1.1.0', readFileSync(at.release_), generateKeyPairSync('ed25519').privateKey),
        ),
    ],
    [
      'another target',
      /found a release for linux-mips, expected one for/,
      (at) => writeFileSync(at.sig, signatureOf('1.1.0', readFileSync(at.release_), undefined, 'linux-mips')),
    ],
  ]
  for (const [title, message, change] of cases) {
    const at = staging(t)
    at.stage('1.1.0')
    change(at)
    const run = await at.staged()
    t.match([run.code, run.stdout], [1, ''], title)
    t.match(run.stderr, message, title)
    t.same([at.installed(), at.left()], [OLD, ['fieldgate']], title)
  }
  const at = staging(t)
  t.match(await at.staged('x'), { code: 2, stderr: /expected one of a file, --staged and --back/ })
  t.match(await cli(at.dir, ['update', 'x', '--again']), { code: 2, stderr: /--again: expected --staged/ })
})

t.test('copyRelease: the copy can be run only after its digest was compared', async (t) => {
  const dir = t.testdir({ release: 'some bytes' })
  const file = path.join(dir, 'release')
  const places = placesOf(path.join(dir, 'fieldgate'), 7)
  const fd = openSync(file, 'r')
  const mask = process.umask(0)
  t.teardown(() => {
    process.umask(mask)
    closeSync(fd)
  })
  const signed = { version: '1.0.0', target: 'x', sizeBytes: 10, sha256: '0'.repeat(64) }
  t.throws(() => copyRelease(fd, file, places, signed), /release is not the file that was signed/)
  t.notOk(existsSync(places.fresh))
  const sha256 = createHash('sha256').update('some bytes').digest('hex')
  copyRelease(fd, file, places, { ...signed, sha256 })
  t.equal(statSync(places.fresh).mode & 0o777, 0o755)
})

/** Puts a link to a file in its place. */
function linked(file: string): void {
  renameSync(file, `${file}.real`)
  symlinkSync(`${file}.real`, file)
}
