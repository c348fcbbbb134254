// npm run coverage: runs the tests with V8's coverage, worker threads included, and prints lines and branches
// covered for each room, then the branches that no test takes in the rooms of --branches=ROOM,…, unless a
// comment `no test: REASON` stands on the first line of the branch or beside that line. The built program, which
// some tests start, is not counted.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { Report } from 'c8'

/** Where processes and threads leave what they ran. */
const RAW = path.resolve('build/coverage/raw')
const REPORT = 'build/coverage'
/** Bundle of the worker threads; its map lies beside it. */
const WORKER = path.resolve('build/test/worker.cjs')
/** Comment that gives the reason why no test takes a branch. */
const NO_TEST = /\bno test: \S/

const words = process.argv.slice(2)
const rooms = words.find((word) => word.startsWith('--branches='))?.slice('--branches='.length)
rmSync(RAW, { recursive: true, force: true })
mkdirSync(RAW, { recursive: true })
const env = { ...process.env, NODE_V8_COVERAGE: RAW }
let status =
  spawnSync(process.execPath, ['scripts/test/main.mjs', '-Rterse'], { stdio: 'inherit', env }).status ?? 1
if (existsSync(RAW) && readdirSync(RAW).length > 0) {
  keepSources()
  nameMap()
  await new Report({
    tempDirectory: RAW,
    reportsDirectory: REPORT,
    reporter: ['json'],
    include: ['src/**'],
    exclude: [],
    excludeAfterRemap: true, // the bundle of the threads is none of the sources, what it was made of is
    excludeNodeModules: true,
    mergeAsync: true,
    allowExternal: false,
  }).run()
  print(JSON.parse(readFileSync(path.join(REPORT, 'coverage-final.json'), 'utf8')))
} else {
  console.error(`coverage: ${RAW} holds nothing: the tests have not begun`)
  status = 1
}
process.exitCode = status

/**
 * Removes what is not reported from the raw files: tests, packages, built programs. Merging all of it takes
 * many times as long.
 */
function keepSources() {
  const sources = `${pathToFileURL('src').href}/`
  const worker = pathToFileURL(WORKER).href
  for (const name of readdirSync(RAW)) {
    const file = path.join(RAW, name)
    const { result = [] } = JSON.parse(readFileSync(file, 'utf8'))
    const kept = result.filter(({ url }) => url === worker || url.startsWith(sources))
    if (kept.length === 0) rmSync(file)
    else writeFileSync(file, JSON.stringify({ result: kept }))
  }
}

/** Adds the map of the bundle that worker threads of tests run: it does not name its map itself. */
function nameMap() {
  if (!existsSync(`${WORKER}.map`)) return
  const lineLengths = readFileSync(WORKER, 'utf8')
    .split('\n')
    .map((line) => line.length)
  const data = JSON.parse(readFileSync(`${WORKER}.map`, 'utf8'))
  data.sources = data.sources.map((source) => path.resolve(path.dirname(WORKER), source))
  const cache = { [pathToFileURL(WORKER).href]: { lineLengths, data } }
  writeFileSync(path.join(RAW, 'map.json'), JSON.stringify({ result: [], 'source-map-cache': cache }))
}

function print(report) {
  const files = Object.values(report)
    .map((file) => ({ ...file, name: path.relative('.', file.path) }))
    .filter(({ name }) => name.startsWith('src/'))
  const byRoom = Map.groupBy(files, ({ name }) => roomOf(name))
  console.log('# coverage by room: lines %, branches %')
  for (const [room, members] of [...byRoom].sort()) console.log(row(room, members))
  console.log(row('all', files))
  for (const room of rooms?.split(',') ?? []) printBranches(room, files)
}

/** First folder below src/, or `top` for a file beside the folders. */
function roomOf(name) {
  const [, room, rest] = name.split('/')
  return rest === undefined ? 'top' : room
}

function row(room, files) {
  const lines = share(files.flatMap(({ s }) => Object.values(s)))
  const branches = share(files.flatMap(({ b }) => Object.values(b).flat()))
  return `# ${room.padEnd(14)} ${lines.padStart(6)} ${branches.padStart(6)}`
}

/** Percentage of the counts that are not zero. */
function share(counts) {
  const taken = counts.filter((count) => count > 0).length
  return ((100 * taken) / Math.max(1, counts.length)).toFixed(1)
}

function printBranches(room, files) {
  const missed = files.filter(({ name }) => name.startsWith(`src/${room}/`)).flatMap(missedBranches)
  const unexplained = missed.filter(({ isExplained }) => !isExplained)
  for (const { place } of unexplained) console.log(`# never taken: ${place}`)
  const explained = missed.length - unexplained.length
  console.log(`# ${room}: ${unexplained.length} branches never taken, ${explained} more with a reason`)
}

/** Branches of a file that no test takes. V8 counts the place behind an endless loop as one; it has no code. */
function missedBranches({ name, b, branchMap }) {
  const lines = readFileSync(name, 'utf8').split('\n')
  return Object.entries(b)
    .filter(([, counts]) => counts.every((count) => count === 0))
    .map(([id]) => branchMap[id].loc)
    .filter(({ start, end }) => start.line !== end.line || /[^\s}]/.test(textOf(lines, start, end)))
    .map(({ start, end }) => ({
      place: `${name}:${start.line}${end.line === start.line ? '' : `-${end.line}`}`,
      isExplained: lines
        .slice(Math.max(0, start.line - 2), start.line + 1)
        .some((line) => NO_TEST.test(line)),
    }))
}

/** Text of a range within one line. */
function textOf(lines, start, end) {
  return lines[start.line - 1].slice(start.column, end.column)
}
