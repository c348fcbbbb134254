// Instructions, cache misses and mispredicted branches of routes on Porto, counted by valgrind's cachegrind with the
// caches of two ARM cores, and the time that a simple model of these cores makes of them. Counts do not depend on what else
// the machine does. V8's code for x86-64 is counted: that for ARM has about as many instructions. Needs valgrind.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { buildChild } from './build-child.mjs'
import { isThere, PORTO } from './extracts.mjs'
import { option } from './options.mjs'

/**
 * Cores with their published caches (bytes, ways, bytes of a line), clock, and cycles of a model: of an instruction that
 * waits for nothing, of what the second cache and memory add, and of a branch that was predicted wrongly.
 */
const CORES = [
  {
    name: 'Cortex-A76, 2.4 GHz (Raspberry Pi 5)',
    ...{ first: '65536,4,64', last: '2097152,16,64' },
    ...{ gigahertz: 2.4, instruction: 0.5, second: 9, memory: 280, branch: 11 },
  },
  {
    name: 'Cortex-A72, 1.8 GHz (Raspberry Pi 4)',
    ...{ first: '32768,2,64', last: '1048576,16,64' },
    ...{ gigahertz: 1.8, instruction: 0.75, second: 15, memory: 250, branch: 15 },
  },
]
const [ROUTES, FIRSTS] = [option('routes', 1000), option('firsts', 8)]
/** Work, how often it is done before V8's code is settled, how often then, and tables of risk. */
const WORKS = [
  { work: 'free', title: 'route, free flow', warm: 3000, count: ROUTES, tables: 0 },
  { work: 'seen', title: 'route, scattered ×11', warm: 3000, count: ROUTES, tables: 1 },
  { work: 'first-discs', title: 'first answer, discs', warm: 12, count: FIRSTS, tables: 12 + FIRSTS },
  { work: 'first-scattered', title: 'first answer, scattered', warm: 12, count: FIRSTS, tables: 12 + FIRSTS },
]

export async function run() {
  if (spawnSync('valgrind', ['--version']).error !== undefined) {
    console.log('skipped: valgrind does not exist (package valgrind on Debian)')
    return
  }
  if (!isThere(PORTO)) return
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-bench-'))
  try {
    const build = await buildChild('routing-child')
    mkdirSync(path.join(dir, 'map', 'maps'), { recursive: true })
    const built = spawnSync(process.execPath, [build, 'build', path.join(dir, 'map'), 'porto', PORTO])
    if (built.status !== 0) throw new Error(`the map was not built: ${built.stderr}`)
    const child = await buildChild('instructions-child')
    console.log(
      'for one of each                  instructions   to cache 2    to memory   wrong branches   model',
    )
    for (const core of CORES) {
      console.log(core.name)
      for (const each of WORKS) print(core, each, counted(core, each, { child, dir }))
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function print({ gigahertz, instruction, second, memory, branch }, { title }, counts) {
  const { instructions, toSecond, toMemory, wrong } = counts
  // a core overlaps misses with other work: all of them, or none
  const least = instructions * instruction + wrong * branch
  const most = least + toSecond * second + toMemory * memory
  const columns = [instructions, toSecond, toMemory, wrong].map((count) =>
    Math.round(count).toLocaleString('en').padStart(13),
  )
  const [from, to] = [least, most].map((cycles) => Number((cycles / gigahertz / 1e6).toPrecision(2)))
  console.log(`  ${title.padEnd(28)} ${columns.join('')}   ${from} to ${to} ms`)
}

/** Counts what one of a work takes: the difference of two processes. */
function counted(core, { work, warm, count, tables }, { child, dir }) {
  const [less, more] = [0, count].map((further) => {
    const file = path.join(dir, 'counts')
    const data = path.join(dir, 'data')
    rmSync(data, { recursive: true, force: true })
    mkdirSync(data)
    spawnSync('cp', ['-r', path.join(dir, 'map', 'maps'), data])
    const valgrind = [
      ...['--tool=cachegrind', '--smc-check=all-non-file', '--cache-sim=yes', '--branch-sim=yes'],
      ...[`--D1=${core.first}`, `--LL=${core.last}`, `--cachegrind-out-file=${file}`],
    ]
    // one thread, so that the same is counted each time
    const asked = String(warm + further)
    const node = [process.execPath, '--single-threaded', child, data, work, asked, String(tables)]
    const ended = spawnSync('valgrind', [...valgrind, ...node], {
      encoding: 'utf8',
      env: { ...process.env, FIELDGATE_ROUTING__THREADS: '1' },
    })
    if (ended.status !== 0)
      throw new Error(`valgrind ended with ${ended.status}: ${ended.stderr.slice(-2000)}`)
    return readCounts(file)
  })
  const one = (name) => (more[name] - less[name]) / count
  return {
    instructions: one('Ir'),
    toSecond: one('I1mr') + one('D1mr') + one('D1mw'),
    toMemory: one('ILmr') + one('DLmr') + one('DLmw'),
    wrong: one('Bcm') + one('Bim'),
  }
}

/** Reads the totals of a file of cachegrind, by the names of its events. */
function readCounts(file) {
  const text = readFileSync(file, 'utf8')
  const words = (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1].trim().split(/\s+/) ?? []
  const totals = words('summary').map(Number)
  return Object.fromEntries(words('events').map((name, at) => [name, totals[at]]))
}
