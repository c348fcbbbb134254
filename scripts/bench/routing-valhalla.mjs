// Valhalla's own npm binding on the same extract, where somebody put it: npm install --no-save
// @valhallajs/valhallajs@3.6.1 (280 MB, MIT; binaries for Linux x86-64 and arm64 are inside), here or in a
// folder that BENCH_VALHALLA_DIR names. Not a dependency: too large for what it measures.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { spread } from './load.mjs'

const PACKAGE = '@valhallajs/valhallajs'
const FAR_RATIO = 1.25

/**
 * Prints what Valhalla needs for the map and its answers, without directions, and how its routes compare with
 * ours.
 *
 * @param pairs [{ from, to, lengthM, timeS }], ours
 */
export async function runValhalla(name, extract, pairs) {
  const binding = load()
  if (binding === undefined) {
    console.log(`Valhalla: skipped, ${PACKAGE} is not installed (npm install --no-save ${PACKAGE}@3.6.1)`)
    return
  }
  const { valhalla, binaries } = binding
  const dir = path.resolve(`build/valhalla-${name}`)
  const configFile = path.join(dir, 'config.json')
  try {
    const config = await valhalla.getConfig({ tileDir: path.join(dir, 'tiles'), tileExtract: '' })
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(path.join(dir, 'tiles'), { recursive: true })
    writeFileSync(configFile, JSON.stringify(config))
  } catch (error) {
    console.log(`Valhalla: skipped, its configuration script needs Python (${error.message.slice(0, 200)})`)
    return
  }
  const { wallS, peakMb } = await buildTiles(path.join(binaries, 'valhalla_build_tiles'), configFile, extract)
  const beforeMb = process.memoryUsage().rss / 1e6
  const actor = new valhalla.Actor(readFileSync(configFile, 'utf8'))
  const { ms, found } = await ask(actor, pairs)
  const { p50Ms, p95Ms } = spread(ms)
  const addedMb = process.memoryUsage().rss / 1e6 - beforeMb
  console.log(
    `Valhalla ${valhalla.VALHALLA_VERSION}, free flow, ${ms.length} routes: ${p50Ms.toFixed(1)} / ${p95Ms.toFixed(1)} ms; tiles in ${wallS.toFixed(1)} s, peak RSS over ${peakMb.toFixed(0)} MB; RSS added ${addedMb.toFixed(0)} MB`,
  )
  printRatios(found)
}

/** Each pair whose lengths differ much is printed, to be looked into. */
function printRatios(found) {
  const lengths = found.map(({ ours, theirs }) => ours.lengthM / theirs.distance)
  const times = found.map(({ ours, theirs }) => ours.timeS / theirs.duration)
  const far = found.filter((_, i) => lengths[i] > FAR_RATIO || lengths[i] < 1 / FAR_RATIO)
  console.log(
    `our routes beside Valhalla's, median: length ${median(lengths).toFixed(3)}, time ${median(times).toFixed(3)}; ${far.length} of ${lengths.length} lengths differ by more than ${FAR_RATIO} times`,
  )
  for (const { ours, theirs } of far) {
    const place = ([lng, lat]) => `${lng.toFixed(5)},${lat.toFixed(5)}`
    console.log(
      `  ${place(ours.from)} to ${place(ours.to)}: ours ${(ours.lengthM / 1000).toFixed(2)} km in ${(ours.timeS / 60).toFixed(1)} min, Valhalla's ${(theirs.distance / 1000).toFixed(2)} km in ${(theirs.duration / 60).toFixed(1)} min`,
    )
  }
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

/** Its peak is looked at ten times a second, so the true one may be a little higher. */
async function buildTiles(program, configFile, extract) {
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
  if (code !== 0) throw new Error(`valhalla_build_tiles ended with ${code}`)
  return { wallS: (performance.now() - startedAt) / 1000, peakMb }
}

/** One after another; the first routes, which read tiles, count neither for it nor against it. */
async function ask(actor, pairs) {
  const queries = pairs.map(({ from, to }) =>
    JSON.stringify({
      locations: [from, to].map(([lon, lat]) => ({ lon, lat })),
      costing: 'auto',
      directions_type: 'none',
      format: 'osrm',
    }),
  )
  for (const query of queries.slice(0, 50)) await actor.route(query).catch(() => undefined)
  const ms = []
  const found = []
  for (const [i, query] of queries.entries()) {
    const startedAt = performance.now()
    const text = await actor.route(query).catch(() => undefined)
    if (text === undefined) continue
    ms.push(performance.now() - startedAt)
    const [{ distance, duration }] = JSON.parse(text).routes
    if (distance > 0 && duration > 0) found.push({ ours: pairs[i], theirs: { distance, duration } })
  }
  return { ms, found }
}

function median(values) {
  return spread(values).p50Ms
}
