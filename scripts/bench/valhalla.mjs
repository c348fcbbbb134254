// Valhalla's own npm binding on an extract, where somebody put it: npm install --no-save
// @valhallajs/valhallajs@3.6.1 (280 MB, MIT; binaries for Linux x86-64 and arm64 are inside), here or in a
// folder that BENCH_VALHALLA_DIR names. Not a dependency: too large for what it measures.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const PACKAGE = '@valhallajs/valhallajs'

/**
 * Builds Valhalla's tiles of an extract. Without a country it would take traffic to drive on the left.
 *
 * @param lib routing-lib
 * @param place { country, code, bbox }: bbox holds the roads
 * @returns { version, actor, wallS, peakMb }; undefined, and told why, where the binding cannot be used
 */
export async function openValhalla(lib, name, extract, place) {
  const binding = load()
  if (binding === undefined) {
    console.log(`Valhalla: skipped, ${PACKAGE} is not installed (npm install --no-save ${PACKAGE}@3.6.1)`)
    return undefined
  }
  const { valhalla, binaries } = binding
  const dir = path.resolve(`build/valhalla-${name}`)
  const configFile = path.join(dir, 'config.json')
  try {
    const config = await valhalla.getConfig({ tileDir: path.join(dir, 'tiles'), tileExtract: '' })
    config.mjolnir.admin = path.join(dir, 'admins.sqlite')
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(path.join(dir, 'tiles'), { recursive: true })
    writeFileSync(configFile, JSON.stringify(config))
  } catch (error) {
    console.log(`Valhalla: skipped, its configuration script needs Python (${error.message.slice(0, 200)})`)
    return undefined
  }
  const borders = path.join(dir, 'borders.osm.pbf')
  writeFileSync(borders, lib.writeExtract(bordersOf(place)))
  await runTool(path.join(binaries, 'valhalla_build_admins'), configFile, borders)
  const { wallS, peakMb } = await runTool(path.join(binaries, 'valhalla_build_tiles'), configFile, extract)
  const actor = new valhalla.Actor(readFileSync(configFile, 'utf8'))
  return { version: valhalla.VALHALLA_VERSION, actor, wallS, peakMb }
}

function load() {
  const require = createRequire(path.resolve(process.env.BENCH_VALHALLA_DIR ?? '.', 'package.json'))
  try {
    const root = path.dirname(require.resolve(PACKAGE))
    return { valhalla: require(PACKAGE), binaries: path.join(root, process.platform, process.arch) }
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') console.log(`Valhalla: ${error.message}`)
    return undefined
  }
}

/** A country as large as the roads, because the extracts have no borders of countries. */
function bordersOf({ country, code, bbox: [west, south, east, north] }) {
  const corners = [
    [west - 1, south - 1],
    [east + 1, south - 1],
    [east + 1, north + 1],
    [west - 1, north + 1],
  ]
  const border = { boundary: 'administrative', admin_level: '2' }
  return {
    nodes: corners.map(([lng, lat], i) => ({ id: i + 1, lng, lat })),
    ways: [{ id: 1, refs: [1, 2, 3, 4, 1], tags: border }],
    relations: [
      {
        id: 1,
        members: [{ type: 'way', id: 1, role: 'outer' }],
        tags: { ...border, type: 'boundary', name: country, 'name:en': country, 'ISO3166-1:alpha2': code },
      },
    ],
  }
}

/** Its peak is looked at ten times a second, so the true one may be a little higher. */
async function runTool(program, configFile, extract) {
  const startedAt = performance.now()
  // it leaves a file where it stands
  const child = spawn(program, ['-c', configFile, extract], {
    cwd: path.dirname(configFile),
    stdio: 'ignore',
  })
  let peakMb = 0
  const watch = setInterval(() => {
    const file = `/proc/${child.pid}/status`
    const status = existsSync(file) ? readFileSync(file, 'utf8') : ''
    peakMb = Math.max(peakMb, Number(status.match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024)
  }, 100)
  const code = await new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject))
  clearInterval(watch)
  if (code !== 0) throw new Error(`${path.basename(program)} ended with ${code}`)
  return { wallS: (performance.now() - startedAt) / 1000, peakMb }
}
