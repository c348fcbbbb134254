// Bundles the console into dist/console/: hashed names, each file also gzipped, and the page that names them.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const FINAL = 'dist/console'
/** Made here first: a gateway that serves the console meanwhile never sees half of it. */
const OUT = `dist/console.${process.pid}`
const ICON = 'src/console/style/icon.svg'
/** Libraries whose terms travel with the bundle. */
const LIBRARIES = ['maplibre-gl', 'tus-js-client']

/** Parts of the map library's style for controls that the console has not: most of that style is their icons. */
const UNUSED_CONTROLS = /-(ctrl-)?(geolocate|user-location|globe|terrain|fullscreen|logo|compass)/

export async function buildConsole() {
  mkdirSync(OUT, { recursive: true })
  // the worker of MapLibre GL is a module of its own, which the page starts by its name
  const worker = hashed(
    'map-worker',
    '.mjs',
    readFileSync(packageFile('maplibre-gl', 'dist/maplibre-gl-worker.mjs')),
  )
  const { metafile } = await build({
    entryPoints: { app: 'src/console/main.ts', style: 'src/console/style/style.css' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    minify: true,
    charset: 'utf8', // as the page says: Japanese words take half of what escapes do
    metafile: true,
    plugins: [{ name: 'used controls', setup: leaveOutControls }],
    legalComments: 'none',
    define: { __MAP_WORKER__: JSON.stringify(worker) },
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    outdir: OUT,
    logLevel: 'warning',
  })
  const icon = hashed('icon', '.svg', readFileSync(ICON))
  writeFileSync(path.join(OUT, 'licences.txt'), LIBRARIES.map(licenceOf).join('\n\n'))
  const made = Object.keys(metafile.outputs).map((file) => path.basename(file))
  const named = (name, suffix) => made.find((file) => file.startsWith(`${name}-`) && file.endsWith(suffix))
  const page = readFileSync('src/console/index.html', 'utf8')
    .replace('APP_JS', named('app', '.js'))
    .replace('STYLE_CSS', named('style', '.css'))
    .replace('ICON_SVG', icon)
  writeFileSync(path.join(OUT, 'index.html'), page)
  for (const file of readdirSync(OUT)) {
    const bytes = readFileSync(path.join(OUT, file))
    writeFileSync(path.join(OUT, `${file}.gz`), gzipSync(bytes, { level: 9 }))
  }
  moveIntoPlace()
}

/** Leaves out the rules of unused controls from the map library's style. */
function leaveOutControls({ onLoad }) {
  onLoad({ filter: /maplibre-gl\.css$/ }, ({ path: file }) => {
    const css = readFileSync(file, 'utf8')
    const contents = css.replace(/([^{}]+)\{[^{}]*\}/g, (rule, selectors) =>
      selectors.split(',').every((selector) => UNUSED_CONTROLS.test(selector)) ? '' : rule,
    )
    if (contents.length > css.length / 2)
      throw new Error(
        `${file} has other rules than expected: ${contents.length} of ${css.length} bytes are left`,
      )
    return { contents, loader: 'css' }
  })
}

/** The page goes last, when all that it names is there; what the page before named goes after that. */
function moveIntoPlace() {
  mkdirSync(FINAL, { recursive: true })
  const isPage = (file) => file.startsWith('index.html')
  const made = readdirSync(OUT).sort((a, b) => isPage(a) - isPage(b))
  for (const file of made) renameSync(path.join(OUT, file), path.join(FINAL, file))
  for (const file of readdirSync(FINAL))
    if (!made.includes(file)) rmSync(path.join(FINAL, file), { recursive: true })
  rmSync(OUT, { recursive: true })
}

/** Writes a file under a name that changes with its content. @returns that name */
function hashed(name, suffix, bytes) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase()
  const file = `${name}-${hash}${suffix}`
  writeFileSync(path.join(OUT, file), bytes)
  return file
}

function licenceOf(name) {
  const folder = path.dirname(packageFile(name, 'package.json'))
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  return `${name}\n\n${readFileSync(path.join(folder, file), 'utf8')}`
}

/** A file of a package, also one that its `exports` do not name. */
function packageFile(name, file) {
  const folder = createRequire(import.meta.url)
    .resolve.paths(name)
    .map((dir) => path.join(dir, name))
    .find((dir) => readdirOrNone(dir).includes('package.json'))
  return path.join(folder, file)
}

function readdirOrNone(dir) {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}
