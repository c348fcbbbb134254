// Long form of the map tests: damages an extract in thousands of ways, and builds every extract of a folder twice.
// usage: node scripts/fuzz-map.mjs [FOLDER OF .osm.pbf] [CUTS] [FLIPS]      (default ../shared/data/osm 200 2000)
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const [folder = '../shared/data/osm', cuts = '200', flips = '2000'] = process.argv.slice(2)
/** a build of the smallest extract takes some 50 ms: one that takes this long hangs */
const SLOW_MS = 10_000
const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-fuzz-'))
const { buildMap, createRandom, openExtract, readGraph, unpackBlob, verifyMap, writeBlob, writeGraph } =
  await bundle()
const OPTIONS = { profile: 'car', country: null, name: 'fuzz', builtBy: 'fieldgate fuzz' }
let failures = 0

const extracts = readdirSync(folder)
  .filter((name) => name.endsWith('.osm.pbf'))
  .map((name) => path.join(folder, name))
  .sort((a, b) => statSync(a).size - statSync(b).size)
for (const extract of extracts) await buildTwice(extract)
await damage(extracts[0], readFileSync(extracts[0]), 'as it is')
// behind zlib's checksum little damage gets as far as the reader of blocks: so once more without it
await damage(extracts[0], unpacked(extracts[0]), 'with unpacked blobs')
rmSync(dir, { recursive: true })
console.log(failures === 0 ? 'no failure' : `${failures} failures`)
process.exit(failures === 0 ? 0 : 1)

async function bundle() {
  const outfile = path.join(dir, 'mapbuild.mjs')
  const contents = `
    export { buildMap } from './src/mapbuild/build-map.js'
    export { openExtract, unpackBlob } from './src/mapbuild/extract/blobs.js'
    export { writeBlob } from './src/demo/write-extract.js'
    export { writeGraph } from './src/mapbuild/graph/write-graph.js'
    export { readGraph } from './src/routing/graph/graph-file.js'
    export { verifyMap } from './src/routing/cch/map-hierarchy.js'
    export { createRandom } from './src/demo/town-builder.js'`
  const stdin = { contents, resolveDir: process.cwd(), loader: 'ts' }
  await build({ stdin, bundle: true, platform: 'node', format: 'esm', outfile, logLevel: 'warning' })
  return await import(pathToFileURL(outfile).href)
}

async function buildTwice(input) {
  const startedAt = performance.now()
  const first = writeGraph(await buildMap({ ...OPTIONS, input }))
  const tookMs = performance.now() - startedAt
  const faults = check(first)
  const second = writeGraph(await buildMap({ ...OPTIONS, input }))
  const isSame = Buffer.compare(first, second) === 0
  if (faults.length > 0 || !isSame) failures++
  console.log(
    `${path.basename(input)}: ${first.length} bytes in ${Math.round(tookMs)} ms, ${isSame ? 'same bytes again' : 'OTHER BYTES'}, ${faults[0] ?? 'sound'}`,
  )
}

function check(bytes) {
  const shared = new SharedArrayBuffer(bytes.length)
  new Uint8Array(shared).set(bytes)
  return verifyMap(readGraph(shared))
}

/** The same extract without compression. */
function unpacked(file) {
  const extract = openExtract(file)
  const blobs = [...extract.blobsFrom(0)].map((blob) => writeBlob(blob.type, unpackBlob(blob), { raw: true }))
  extract.close()
  return Buffer.concat(blobs)
}

async function damage(extract, bytes, form) {
  const name = `${path.basename(extract)} ${form}`
  const random = createRandom(20_261_121)
  const results = { refused: 0, map: 0 }
  for (let i = 0; i < Number(cuts); i++) {
    const length = Math.floor(random() * bytes.length)
    results[await survives(bytes.subarray(0, length), `cut to ${length} bytes`)]++
  }
  console.log(`${name}: ${cuts} cuts, ${results.refused} refused, ${results.map} sound maps`)
  Object.assign(results, { refused: 0, map: 0 })
  for (let i = 0; i < Number(flips); i++) {
    const at = Math.floor(random() * bytes.length)
    const damaged = Buffer.from(bytes)
    damaged[at] = Math.floor(random() * 256) // now and then the same byte
    results[await survives(damaged, `byte ${at} made ${damaged[at]}`)]++
  }
  console.log(`${name}: ${flips} bytes, ${results.refused} refused, ${results.map} sound maps`)
}

/** An error of the reader, or a sound map; anything else is told and counted. */
async function survives(bytes, what) {
  const input = path.join(dir, 'damaged.osm.pbf')
  writeFileSync(input, bytes)
  const startedAt = performance.now()
  try {
    const faults = check(writeGraph(await buildMap({ ...OPTIONS, input })))
    if (faults.length > 0) fail(`${what}: ${faults[0]}`)
    return 'map'
  } catch (error) {
    if (error.errorName !== 'BAD_EXTRACT') fail(`${what}: ${error.stack}`)
    return 'refused'
  } finally {
    const tookMs = performance.now() - startedAt
    if (tookMs > SLOW_MS) fail(`${what}: took ${Math.round(tookMs)} ms`)
  }
}

function fail(message) {
  failures++
  console.log(`FAILED ${message}`)
}
