// Routes on real roads: every row of the target table, beside layer 1 and ngraph.path in the same run, each
// cost compared. Options: --mosaic (20 joined Portos, too), --mosaic-only, --pairs=N, --oracle=N, --ngraph=N,
// --rounds=N. BENCH_TURN_COSTS is the option --turn-costs of `map build`; BENCH_CPU=1 tells CPU times, for a machine
// that others use meanwhile.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { NODE_FLAGS } from '../node-flags.mjs'
import { buildChild, childPath, openLib } from './build-child.mjs'
import { isThere, MONACO, makeMosaic, PORTO } from './extracts.mjs'
import { spread } from './load.mjs'
import { option } from './options.mjs'
import { TARGETS } from './routing-targets.mjs'
import { runValhalla } from './routing-valhalla.mjs'

const CHILD = childPath('routing-child')

export async function run() {
  if (!isThere(PORTO)) return
  await buildChild('routing-child')
  if (!process.argv.includes('--mosaic-only'))
    await measure('porto', PORTO, { pairs: 1000, oracle: 1000, ngraph: 200, rounds: 21 })
  if (!process.argv.some((argument) => argument.startsWith('--mosaic'))) {
    console.log('\nmosaic20, 1.2 million nodes: npm run bench -- routing --mosaic')
    return
  }
  const mosaic = makeMosaic()
  if (mosaic !== undefined)
    await measure('mosaic20', mosaic, { pairs: 1000, oracle: 100, ngraph: 10, rounds: 6 })
}

async function measure(name, extract, defaults) {
  const counts = withOptions(defaults)
  const dataDir = path.resolve(`build/bench-${name}`)
  mkdirSync(path.join(dataDir, 'maps'), { recursive: true })
  const child = (mode, argument = '', onRow = undefined) => runChild(mode, dataDir, name, argument, onRow)
  const [built] = await child('build', extract)
  console.log(
    `\n${name}: ${built.nodeCount} nodes, ${built.arcCount} arcs; ${counts.pairs} pairs a profile, ${counts.oracle} of them on layer 1, ${counts.ngraph} by ngraph.path`,
  )
  printHead()
  await child('rows', JSON.stringify(counts), (row) => printTimes(name, row))
  const graphFile = path.join(dataDir, 'maps', `${name}.graph`)
  await child('pairs', '200')
  const pairs = JSON.parse(readFileSync(`${graphFile}.pairs.json`, 'utf8'))
  const first = JSON.stringify({
    start_lonlat: pairs[0].from,
    goal_lonlat: pairs[0].to,
    start_datetime: '2026-06-01 00:00:00+00',
    themes: {},
  })
  const loads = []
  for (let i = 0; i < 5; i++) loads.push((await child('load', first))[0].ms)
  printFigure(name, 'build wall', 'map build, wall', built.wallS, 's')
  printFigure(name, 'build cpu', 'map build, CPU of all threads', built.cpuS, 's')
  printFigure(name, 'build peak', 'map build, peak RSS', built.peakMb, 'MB')
  printFigure(name, 'file', 'file on disk', statSync(graphFile).size / 1e6, 'MB')
  printFigure(name, 'load', 'load to first answer, median of 5', spread(loads).p50Ms, 'ms')
  if (isThere(MONACO)) {
    const [served] = await child('serve', MONACO)
    printFigure(name, 'rss', 'RSS added by map and one risk profile', served.mb, 'MB')
  }
  await child('arcs')
  const [[ours], [theirs]] = [await child('memory-ours'), await child('memory-ngraph')]
  console.log(
    `RSS added by the roads and 1000 searches on layer 1, a process each: ours ${ours.mb.toFixed(1)} MB, ngraph.path ${theirs.mb.toFixed(1)} MB, that is ${((ours.mb / theirs.mb) * 100).toFixed(1)} %`,
  )
  await runValhalla(await openLib(), name, extract, pairs)
}

function withOptions(defaults) {
  const counts = Object.fromEntries(
    Object.entries(defaults).map(([name, count]) => [name, option(name, count)]),
  )
  return {
    ...counts,
    oracle: Math.min(counts.oracle, counts.pairs),
    ngraph: Math.min(counts.ngraph, counts.pairs),
  }
}

/** Figures of a child process, one a line; `onRow` sees each as it comes. */
async function runChild(mode, dataDir, name, argument, onRow) {
  // what a gateway takes is measured with the flags of the released program
  const flags = mode === 'serve' ? NODE_FLAGS : []
  const args = ['--expose-gc', '--max-old-space-size=12000', ...flags, CHILD, mode, dataDir, name, argument]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const rows = []
  for await (const text of createInterface({ input: child.stdout })) {
    rows.push(JSON.parse(text))
    onRow?.(rows.at(-1))
  }
  const [code] = await ended
  if (code !== 0) throw new Error(`${mode} of ${name} ended with ${code}`)
  return rows
}

function printHead() {
  const words = [
    'ms, median / p95',
    'measured',
    'target',
    '',
    'mean CPU',
    'flat Dijkstra',
    'ngraph.path nba',
    'costs',
  ]
  console.log(line(words))
}

/** A row of durations: median and p95, or the one of them that its target names. */
function printTimes(map, { key, title, ms, cpuMs, flatMs, ngraphMs, compared, wrong }) {
  const { p50Ms, p95Ms } = spread(ms)
  const target = TARGETS[key]?.[map]
  const { p50, p95 } = target ?? {}
  const isMet = (p50 === undefined || p50Ms <= p50) && (p95 === undefined || p95Ms <= p95)
  const asked = target === undefined ? '' : `≤ ${[p50 ?? '–', p95 ?? '–'].join(' / ')}`
  const costs =
    compared === undefined ? '' : wrong === 0 ? `${compared} equal` : `${wrong} of ${compared} WRONG`
  console.log(
    line([
      title,
      pair(ms),
      asked,
      verdict(target, isMet),
      cpuMs?.toFixed(3) ?? '',
      pair(flatMs),
      pair(ngraphMs),
      costs,
    ]),
  )
}

function printFigure(map, key, title, value, unit) {
  const target = TARGETS[key]?.[map]
  const asked = target === undefined ? '' : `≤ ${target.max} ${unit}`
  const isMet = target !== undefined && value <= target.max
  console.log(line([title, `${value.toFixed(1)} ${unit}`, asked, verdict(target, isMet)]))
}

function verdict(target, isMet) {
  if (target === undefined) return ''
  return isMet ? 'ok' : 'MISSED'
}

function pair(ms) {
  if (ms === undefined || ms.length === 0) return ''
  const { p50Ms, p95Ms } = spread(ms)
  return `${p50Ms.toFixed(3)} / ${p95Ms.toFixed(3)}`
}

function line([title, ...cells]) {
  const widths = [19, 13, 7, 9, 21, 21, 0]
  return `${title.padEnd(39)}${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' ')}`.trimEnd()
}
