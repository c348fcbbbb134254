// Loads TypeScript sources in tests with Node's own type stripping: `./x.js` finds `./x.ts` when there is no
// `x.js`. Their `tap` is the one of tap.mjs. Most of the time of a short test is spent here, so what was
// stripped is kept in build/test/stripped under the digest of its source, and a package is resolved once.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { stopCoverage } from 'node:v8'

const TAP = new URL('tap.mjs', import.meta.url).href
const STRIPPED = path.resolve('build/test/stripped')
/** Modules of packages that files of the project import; the same for all of them. */
const packages = new Map()
for (const [name, file] of Object.entries(JSON.parse(process.env.TEST_PACKAGES ?? '{}')))
  packages.set(name, { url: pathToFileURL(file).href, format: 'module', shortCircuit: true })

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL } = context
    if (parentURL?.endsWith('.ts') !== true) return nextResolve(specifier, context)
    if (specifier === 'tap') return { url: TAP, format: 'module', shortCircuit: true }
    if (specifier.startsWith('.')) {
      if (!specifier.endsWith('.js')) return nextResolve(specifier, context)
      const url = new URL(`${specifier.slice(0, -3)}.ts`, parentURL).href
      return isFile(url) ? { url, format: 'module', shortCircuit: true } : nextResolve(specifier, context)
    }
    const known = packages.get(specifier)
    if (known !== undefined) return known
    const found = { ...nextResolve(specifier, context), shortCircuit: true }
    packages.set(specifier, found)
    return found
  },
  load(url, context, nextLoad) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context)
    return {
      format: 'module',
      source: stripped(readFileSync(fileURLToPath(url), 'utf8')),
      shortCircuit: true,
    }
  },
})

if (process.env.NODE_V8_COVERAGE !== undefined) leaveUncounted()
startPrograms()

/**
 * Stops counting what runs in a file of tests that begins with `// Not counted: REASON`: long searches of real
 * maps take two to three times as long with V8's counters in their loops.
 */
function leaveUncounted() {
  const file = process.argv[1]
  if (file?.endsWith('.test.ts') !== true || !readFileSync(file, 'utf8').startsWith('// Not counted: '))
    return
  stopCoverage()
  delete process.env.NODE_V8_COVERAGE
}

/**
 * Starts the programs of a test as they are. tap would load its modules into each Node among them, and Node
 * the cache of compiled code and the recording of coverage, which counts the sources alone. Nor are maps of
 * packages read: the lines of the sources are their own.
 */
function startPrograms() {
  process.setSourceMapsEnabled(false)
  const spawning = globalThis[Symbol.for('process-on-spawn@*:singletonId')]
  if (spawning === undefined) return // not started by tap
  spawning.listeners = [
    ({ env }) => {
      delete env.NODE_V8_COVERAGE
      delete env.NODE_COMPILE_CACHE
    },
  ]
}

const files = new Map()

function isFile(url) {
  let found = files.get(url)
  if (found === undefined) {
    found = existsSync(fileURLToPath(url))
    files.set(url, found)
  }
  return found
}

/** Source without types, from the cache where it is there. Two processes may write the same file at once. */
function stripped(source) {
  const file = path.join(STRIPPED, `${createHash('sha1').update(source).digest('hex')}.js`)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const text = stripTypeScriptTypes(source)
  mkdirSync(STRIPPED, { recursive: true })
  writeFileSync(`${file}.${process.pid}`, text)
  renameSync(`${file}.${process.pid}`, file)
  return text
}
