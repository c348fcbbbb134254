// npm run coverage: runs the tests with V8's coverage and prints lines and branches covered for each room, then the branches
// that no test takes in the rooms given by --branches=ROOM,… Threads of gateways run a bundle and are not counted.
// With --report only what the last such run left is read.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Turns tap's coverage on without its demand of 100 %. */
export const COVERAGE_FLAGS = [
  '--no-disable-coverage',
  '--allow-incomplete-coverage',
  '--coverage-report=json',
  '--coverage-report=json-summary',
]
const REPORT = '.tap/report/coverage-final.json'

const words = process.argv.slice(2)
const rooms = words.find((word) => word.startsWith('--branches='))?.slice('--branches='.length)
let status = 0
if (!words.includes('--report')) {
  const args = ['scripts/test/main.mjs', '-Rterse', ...COVERAGE_FLAGS]
  status = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
}
if (existsSync(REPORT)) print(JSON.parse(readFileSync(REPORT, 'utf8')))
else {
  console.error(`${REPORT} is missing: run the tests with ${COVERAGE_FLAGS.join(' ')}`)
  status = 1
}
process.exitCode = status

function print(report) {
  const files = Object.values(report)
    .map((file) => ({ ...file, name: path.relative('.', file.path) }))
    .filter(({ name }) => name.startsWith('src/'))
  const byRoom = Map.groupBy(files, ({ name }) => roomOf(name))
  console.log('# coverage by room: lines %, branches %')
  for (const [room, members] of [...byRoom].sort()) console.log(row(room, members))
  console.log(row('all', files))
  for (const room of rooms?.split(',') ?? []) {
    for (const file of files) if (file.name.startsWith(`src/${room}/`)) printBranches(file)
  }
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

function printBranches({ name, b, branchMap }) {
  for (const [id, counts] of Object.entries(b)) {
    if (counts.some((count) => count > 0)) continue
    const { start, end } = branchMap[id].loc
    console.log(`# never taken: ${name}:${start.line}${end.line === start.line ? '' : `-${end.line}`}`)
  }
}
