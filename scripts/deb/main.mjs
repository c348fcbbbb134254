// npm run build:deb -- --target linux-x64|linux-arm64 [--fast]: build/fieldgate_VERSION_ARCH.deb of the
// executable.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { targetOf } from '../binary/base.mjs'
import { manPage } from './man.mjs'

const HERE = 'scripts/deb'
const MAINTAINER = 'Fieldgate maintainers <maintainers@fieldgate.example>'

const argv = process.argv.slice(2)
const target = targetOf(argv)
const isFast = argv.includes('--fast')
const { version, description } = JSON.parse(readFileSync('package.json', 'utf8'))
const executable = path.resolve('build', `fieldgate-${version}-${target.name}`)
const root = path.resolve('build/deb', target.name)
const output = path.resolve('build', `fieldgate_${version}_${target.debArch}.deb`)
/** The last commit's time: the same sources make the same package. */
const epochS = sourceEpoch()
const date = new Date(epochS * 1000)

if (!existsSync(executable))
  execFileSync(process.execPath, ['scripts/binary/main.mjs', '--target', target.name], { stdio: 'inherit' })
rmSync(root, { recursive: true, force: true })
await writeFiles()
writeControl()
setTimes(root)
// xz -6 takes a minute; --fast is for tests
const argvDeb = ['--root-owner-group', '-Zxz', isFast ? '-z1' : '-z6', '--build', root, output]
execFileSync('dpkg-deb', argvDeb, {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, SOURCE_DATE_EPOCH: String(epochS) },
})
console.log(`${path.relative('.', output)}: ${(statSync(output).size / 1e6).toFixed(1)} MB`)

async function writeFiles() {
  install(executable, 'usr/lib/fieldgate/fieldgate', 0o755)
  install(`${HERE}/fieldgate.sh`, 'usr/bin/fieldgate', 0o755)
  install(`${HERE}/edge.config.json`, 'etc/fieldgate/edge.config.json', 0o640)
  install(`${HERE}/fieldgate.service`, 'usr/lib/systemd/system/fieldgate.service')
  for (const unit of ['fieldgate-hub.service', 'fieldgate-update.service', 'fieldgate-update.timer'])
    install(`${HERE}/${unit}`, `usr/lib/systemd/system/${unit}`)
  install(`${HERE}/modules.conf`, 'usr/share/fieldgate/modules.conf')
  put('usr/share/doc/fieldgate/copyright', copyright())
  put('usr/share/doc/fieldgate/changelog.gz', gzip(changelog()))
  put('usr/share/man/man8/fieldgate.8.gz', gzip(await manPage(version, date.toISOString().slice(0, 10))))
  put('usr/share/lintian/overrides/fieldgate', overrides())
}

function writeControl() {
  const sizeKb = Math.ceil(
    filesBelow(root).reduce((sum, file) => sum + statSync(path.join(root, file)).size, 0) / 1024,
  )
  const sums = filesBelow(root).map((file) => `${md5(path.join(root, file))}  ${file}\n`)
  put('DEBIAN/md5sums', sums.join(''))
  put('DEBIAN/conffiles', '/etc/fieldgate/edge.config.json\n')
  put(
    'DEBIAN/control',
    `Package: fieldgate
Version: ${version}
Architecture: ${target.debArch}
Maintainer: ${MAINTAINER}
Installed-Size: ${sizeKb}
Depends: libc6 (>= 2.34), libstdc++6 (>= 6), libgcc-s1 (>= 3.4), adduser
Recommends: systemd
Section: net
Priority: optional
Description: data gateway for small devices in the field
 ${description.replace(/(.{1,75})(\s|$)/g, '$1\n ').trim()}.
 .
 One executable with its own runtime, and a hardened service.
`,
  )
  for (const script of ['postinst', 'prerm', 'postrm'])
    install(`${HERE}/${script}`, `DEBIAN/${script}`, 0o755)
}

/**
 * CHANGELOG.md in Debian's form: a section "## VERSION (DATE)" with its paragraphs and points. A section
 * without a version is that of the package, at the time of its sources.
 */
function changelog() {
  const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m).slice(1)
  return sections
    .map((section) => {
      const [title = '', ...lines] = section.split('\n')
      const released = /^(\d\S*) \(([\d-]+)\)$/.exec(title)
      const stamp = (released === null ? date : new Date(released[2])).toUTCString().replace('GMT', '+0000')
      const points = lines.join('\n').split(/^(?=- )|\n\n/m)
      const text = points.map((point) => point.replace(/^- /, '').split(/\s+/).filter(Boolean).join(' '))
      const wrapped = text
        .filter(Boolean)
        .map((line) =>
          line.startsWith('### ') ? `  [ ${line.slice(4)} ]` : `  * ${wrap(line).join('\n    ')}`,
        )
      return `fieldgate (${released?.[1] ?? version}) unstable; urgency=medium\n\n${wrapped.join('\n')}\n\n -- ${MAINTAINER}  ${stamp}\n`
    })
    .join('\n')
}

/** Lines of at most 76 characters. */
function wrap(text) {
  return text.match(/.{1,76}(?=\s|$)/g).map((line) => line.trim())
}

function copyright() {
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: fieldgate

Files: *
Copyright: ${date.getUTCFullYear()} the Fieldgate authors
License: Apache-2.0
 On Debian systems the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
Comment:
 The executable holds Node.js (MIT, with the licences of what it contains) and the npm
 packages that package.json of the sources names, each under its own free licence.
`
}

/** Lintian tags that cannot be avoided in an executable that contains Node. */
function overrides() {
  return [
    'unstripped-binary-or-object', // it was stripped before the program was put in; after that it must not be
    'embedded-library', // Node brings its own zlib and OpenSSL
    'hardening-no-pie', // Node's own build
    'non-standard-file-perm', // settings may name secrets
  ]
    .map((tag) => `fieldgate: ${tag}\n`)
    .join('')
}

function install(from, to, mode = 0o644) {
  const file = path.join(root, to)
  makeFolder(file)
  copyFileSync(from, file)
  chmodSync(file, mode)
}

function put(to, content) {
  const file = path.join(root, to)
  makeFolder(file)
  writeFileSync(file, content)
  chmodSync(file, 0o644)
}

function makeFolder(file) {
  const { dir } = path.parse(file)
  mkdirSync(dir, { recursive: true })
  for (let folder = dir; folder.startsWith(root); folder = path.dirname(folder)) chmodSync(folder, 0o755)
}

function gzip(text) {
  return gzipSync(text, { level: 9 })
}

function md5(file) {
  return createHash('md5').update(readFileSync(file)).digest('hex')
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((name) => !name.startsWith('DEBIAN/'))
    .sort()
}

function setTimes(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    utimesSync(path.join(entry.parentPath, entry.name), epochS, epochS)
  utimesSync(folder, epochS, epochS)
}

function sourceEpoch() {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return Number(process.env.SOURCE_DATE_EPOCH)
  try {
    return Number(execFileSync('git', ['log', '-1', '--format=%ct'], { encoding: 'utf8', stdio: 'pipe' }))
  } catch {
    return 1_795_000_000 // sources without their history: a fixed day
  }
}
