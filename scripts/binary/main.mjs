// npm run build:binary -- --target linux-x64|linux-arm64 [--fetch] [--without-hub]: one executable,
// build/fieldgate-VERSION-TARGET, and its sha256. Without the parts of a hub it shows what they cost a gateway
// (`npm run bench -- footprint`), under a name of its own.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { inject } from 'postject'
import { NODE_FLAGS } from '../node-flags.mjs'
import { baseNode, strippedCopy, targetOf } from './base.mjs'
import { makeParts } from './parts.mjs'

/** Node's own mark in its executable, where the bundle's presence is noted. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
/**
 * Compiled code holds tables ordered by a random seed, and lacks functions that V8's own threads throw out
 * when they come to it, which depends on the machine's other work: with a fixed seed and without threads the
 * same sources make the same bytes.
 */
const SAME_EVERY_TIME = ['--random-seed=1', '--predictable']
/** Starts that must have compiled the same code, and most starts that are tried. */
const AGREEING_RUNS = 3
const MOST_RUNS = 20

const target = targetOf(process.argv.slice(2))
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const work = path.resolve('build/binary', target.name)
const isWithoutHub = process.argv.includes('--without-hub')
const output = path.resolve(
  'build',
  `fieldgate-${version}-${target.name}${isWithoutHub ? '-without-hub' : ''}`,
)

if (process.argv.includes('--fetch')) {
  // only brings what is not in node_modules
  baseNode(target)
  process.exit(0)
}
mkdirSync(work, { recursive: true })
execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' })
const blob = makeBlob(await collectAssets())
const fresh = path.join(work, 'fieldgate')
strippedCopy(baseNode(target), target, fresh)
await quietly(() => inject(fresh, 'NODE_SEA_BLOB', readFileSync(blob), { sentinelFuse: FUSE }))
renameSync(fresh, output) // never a half-written executable under its name
const bytes = readFileSync(output)
if (bytes.includes(path.resolve('scripts/binary')))
  throw new Error('the executable names the folder that it was built in: another one would make other bytes')
const sha256 = createHash('sha256').update(bytes).digest('hex')
writeFileSync(`${output}.sha256`, `${sha256}  ${path.basename(output)}\n`)
console.log(`${path.relative('.', output)}: ${(bytes.length / 1e6).toFixed(1)} MB, sha256 ${sha256}`)

/**
 * Everything the program reads by `readAsset`: the addon of the target's machine, the threads, the console.
 */
async function collectAssets() {
  const addonRoot = path.dirname(createRequire(import.meta.url).resolve('better-sqlite3/package.json'))
  const addon = path.join(work, 'better_sqlite3.node')
  strippedCopy(path.join(addonRoot, 'prebuilds', `${target.name}.node`), target, addon)
  const digest = `${addon}.sha256`
  writeFileSync(digest, createHash('sha256').update(readFileSync(addon)).digest('hex'))
  const assets = {
    'better_sqlite3.node': addon,
    'better_sqlite3.node.sha256': digest,
    'search-worker.cjs': path.resolve('dist/search-worker.cjs'),
    'help-worker.cjs': path.resolve('dist/help-worker.cjs'),
    'reader-worker.cjs': path.resolve('dist/reader-worker.cjs'),
    'job-worker.cjs': path.resolve('dist/job-worker.cjs'),
    'backup-worker.cjs': path.resolve('dist/backup-worker.cjs'),
  }
  const parts = path.join(work, 'parts')
  const ofHub = await writeParts(parts)
  // compiled code fits one kind of machine, so only the target that is this one gets it
  const compiled = target.arch === process.arch ? compile(parts) : []
  for (const file of compiled) assets[`code/${path.basename(file)}`] = file
  Object.assign(
    assets,
    packedParts(parts, new Set(['main.js', ...compiled.map((file) => path.basename(file))])),
  )
  const hubBytes = ofHub.reduce((sum, name) => sum + statSync(assets[`packed/${name}`]).size, 0)
  if (isWithoutHub) for (const name of ofHub) delete assets[`packed/${name}`]
  console.log(`parts that a hub alone loads: ${ofHub.length}, ${(hubBytes / 1000).toFixed(0)} kB`)
  for (const file of filesBelow('dist/console')) assets[path.relative('dist', file)] = path.resolve(file)
  return assets
}

/** @returns the names of the parts that a hub alone loads */
async function writeParts(folder) {
  const { main, parts, ofHub } = await makeParts()
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const [name, source] of parts.set('main.js', main)) writeFileSync(path.join(folder, name), source)
  return ofHub
}

/** Packs the parts that a start does not read: what a hub, a verb or a rare method needs takes a quarter of its size. */
function packedParts(parts, plain) {
  const packed = path.join(work, 'packed')
  rmSync(packed, { recursive: true, force: true })
  mkdirSync(packed)
  const assets = {}
  for (const file of filesBelow(parts)) {
    const name = path.basename(file)
    if (plain.has(name)) {
      assets[`parts/${name}`] = file
      continue
    }
    const small = path.join(packed, name)
    writeFileSync(small, brotliCompressSync(readFileSync(file)))
    assets[`packed/${name}`] = small
  }
  return assets
}

/**
 * Compiles what a start runs, see `compile.cjs`. Its data directory exists before, as at every start but the first. Files
 * and sockets are ready in another order now and then, and functions are then compiled in another order: code counts that
 * is made three times.
 */
function compile(parts) {
  const prepared = path.join(work, 'prepared')
  rmSync(prepared, { recursive: true, force: true })
  const init = [path.resolve('dist/fieldgate.cjs'), 'init', '--data-dir', prepared]
  execFileSync(process.execPath, init, { cwd: work, env: {}, stdio: ['ignore', 'ignore', 'inherit'] })
  const made = new Map()
  for (let runs = 0; runs < MOST_RUNS; runs++) {
    const files = compileOnce(parts, prepared)
    const digest = createHash('sha256')
    for (const file of files) digest.update(readFileSync(file))
    const key = digest.digest('hex')
    made.set(key, (made.get(key) ?? 0) + 1)
    if (made.get(key) === AGREEING_RUNS) return files
  }
  throw new Error(`no ${AGREEING_RUNS} of ${MOST_RUNS} starts compiled the same code`)
}

/** @returns the files of the code */
function compileOnce(parts, prepared) {
  const out = path.join(work, 'code')
  const data = path.join(work, 'data')
  for (const folder of [out, data]) rmSync(folder, { recursive: true, force: true })
  mkdirSync(out)
  cpSync(prepared, data, { recursive: true })
  const env = { FIELDGATE_SQLITE_ADDON: path.resolve('dist/better_sqlite3.node'), UV_THREADPOOL_SIZE: '1' }
  const argv = [...SAME_EVERY_TIME, path.resolve('scripts/binary/compile.cjs'), parts, out, data]
  execFileSync(process.execPath, argv, { cwd: out, env, stdio: ['ignore', 'ignore', 'inherit'] })
  return filesBelow(out)
}

/** Sorted, so that the same files make the same executable. */
function filesBelow(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
}

/** Written by this machine's Node of the same version. */
function makeBlob(assets) {
  const blob = path.join(work, 'fieldgate.blob')
  const config = path.join(work, 'sea.json')
  const settings = {
    main: 'scripts/binary/boot.cjs', // the blob keeps this path: the same in every place that builds
    output: blob,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false, // the bundle's is kept by compile.cjs
    execArgv: NODE_FLAGS,
    execArgvExtension: 'cli', // a process of a hub has other flags, see its unit
    assets,
  }
  writeFileSync(config, JSON.stringify(settings, null, 2))
  execFileSync(process.execPath, [...SAME_EVERY_TIME, '--experimental-sea-config', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return blob
}

/** postject warns of section names that it does not know; they are of no matter here. */
async function quietly(act) {
  const { warn, error, log } = console
  const nothing = () => undefined
  Object.assign(console, { warn: nothing, error: nothing, log: nothing })
  try {
    await act()
  } finally {
    Object.assign(console, { warn, error, log })
  }
}
