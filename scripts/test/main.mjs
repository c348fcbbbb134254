// npm test: every test of the gateway, then the files that took longest. Other words go to tap: `npm test --
// test/geo/mesh.test.ts`. `npm run test:browser` runs the tests of test/browser, which need Chromium.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { buildWorker } from '../../test/support/build-worker.ts'
import { bundlePackages } from './bundle-packages.mjs'

/** Folder in which tap leaves the output of each file of tests. */
const RESULTS = '.tap/test-results'
/** Files named at the end. */
const SHOWN = 10

const words = process.argv.slice(2)
const isBrowser = words.includes('--browser')
const args = words.filter((word) => word !== '--browser')
if (isBrowser) args.push('--include=test/browser/*.test.ts', '--exclude=test/support/**', '--jobs=2')

rmSync(RESULTS, { recursive: true, force: true })
dropOld('build/test/stripped')
const compiled = path.resolve('build/test/compiled')
rmSync(compiled, { recursive: true, force: true })
const maps = path.resolve('build/test/maps')
rmSync(maps, { recursive: true, force: true })
const worker = path.resolve('build/test/worker.cjs')
buildWorker(worker)
const packages = JSON.stringify(await bundlePackages('build/test/packages'))
// a fresh installation has tap's plugin for TypeScript built in, which slows every file down; .taprc leaves it out
const built = 'node_modules/@tapjs/test/test-built/dist/esm/index.js'
if (!existsSync(built) || readFileSync(built, 'utf8').includes('@tapjs/typescript'))
  spawnSync(process.execPath, ['node_modules/tap/dist/esm/run.mjs', 'build'], { stdio: 'ignore' })
const startedAt = performance.now()
const { status } = spawnSync(process.execPath, ['node_modules/tap/dist/esm/run.mjs', ...args], {
  stdio: 'inherit',
  env: {
    ...process.env,
    ...lighter(),
    TEST_WORKER_FILE: worker,
    TEST_PACKAGES: packages,
    TEST_MAPS: maps,
  },
})
const tookS = (performance.now() - startedAt) / 1000
const files = durations().sort((a, b) => b.tookMs - a.tookMs)
console.log(`# ${files.length} files of tests in ${tookS.toFixed(0)} s; the longest:`)
for (const { file, tookMs } of files.slice(0, SHOWN))
  console.log(`# ${(tookMs / 1000).toFixed(1).padStart(6)} s  ${file}`)
process.exitCode = status ?? 1

/**
 * Environment in which the files share what V8 compiled, a quarter of the processor time of a short one, and tap
 * reads no module of its own (leave-modules.mjs). Not with coverage, which V8 counts less exactly for functions
 * from such a cache.
 */
function lighter() {
  const first = new URL('leave-modules.mjs', import.meta.url)
  const NODE_OPTIONS = [process.env.NODE_OPTIONS, `--import=${first.href}`].filter(Boolean).join(' ')
  return process.env.NODE_V8_COVERAGE === undefined
    ? { NODE_OPTIONS, NODE_COMPILE_CACHE: compiled }
    : { NODE_OPTIONS }
}

/**
 * Takes the files of a day ago out of a folder. The others stay: what they hold is told by their names, and
 * crash tests that run beside these read and write them (load-typescript.mjs).
 */
function dropOld(folder) {
  if (!existsSync(folder)) return
  const dayAgo = Date.now() - 86_400_000
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name)
    if ((statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? dayAgo) < dayAgo) rmSync(file, { force: true })
  }
}

/** Durations of the files that ran, from the last line that each of them printed. */
function durations() {
  if (!existsSync(RESULTS)) return []
  return readdirSync(RESULTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.tap'))
    .map((name) => {
      const text = readFileSync(path.join(RESULTS, name), 'utf8')
      const tookMs = Number(/\n# time=([\d.]+)ms\s*$/.exec(text)?.[1] ?? 0)
      return { file: name.replace(/\.tap$/, ''), tookMs }
    })
}
