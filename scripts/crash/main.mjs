import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * `npm run crash`: every test of what must survive anything, in its long form; `npm run crash -- short` in
 * its short one, `npm run crash -- kill size` only some. Each prints one line of JSON. Bad upstreams and
 * foreign servers are in the ordinary tests, whole. Options after the name of one test are given to it, and replace
 * those of its form: `npm run crash -- hub --kills 40 --what store --stores 3`.
 */
const LONG = {
  kill: ['--kills', '300'],
  'power-cut': ['--cuts', '100'],
  'bad-link': [],
  'disk-full': [],
  'dead-disk': ['--seconds', '60'],
  size: [],
  deltas: ['--kills', '100'],
  backup: [],
  mqtt: [],
  days: [],
  postgres: ['--kills', '200'],
  hub: ['--kills', '800'],
  'hub-uploads': ['--kills', '100'],
  migrate: ['--rows', '1000000', '--models', '10000', '--citations', '100'],
  mixed: ['--kills', '1000', '--cuts', '200', '--faults', '500'],
}
const SHORT = {
  mixed: ['--kills', '10', '--cuts', '5', '--faults', '20', '--megabytes', '600'],
  'disk-full': ['--megabytes', '64'], // waits a minute for the sweep
  kill: ['--kills', '6', '--maxBytes', '3000000', '--maxStartMs', '20000'],
  'power-cut': ['--cuts', '3', '--megabytes', '600', '--maxBytes', '1000000'],
  'bad-link': ['--sizeBytes', '3000000', '--latencyMs', '2', '--stallEvery', '10', '--stallMs', '300'],
  size: ['--sizeBytes', '60000000'],
  deltas: ['--kills', '6', '--weights', '200000'],
  mqtt: ['--messages', '10000', '--kills', '4', '--stops', '2'],
  days: ['--seconds', '40', '--kills', '2'],
  postgres: ['--kills', '3', '--loadMs', '400'],
  hub: ['--kills', '4', '--loadMs', '400'],
  'hub-uploads': ['--kills', '3', '--sizeBytes', '60000000'],
  migrate: ['--rows', '10000', '--models', '100', '--kills', '3'],
  backup: ['--backups', '4', '--models', '60', '--modelBytes', '200000', '--pauseMs', '300'],
}
/** Of the short forms; they wait more than they work. */
const SHORT_AT_ONCE = 2
const argv = process.argv.slice(2)
const firstOption = argv.findIndex((word) => word.startsWith('--'))
const [words, options] = firstOption < 0 ? [argv, []] : [argv.slice(0, firstOption), argv.slice(firstOption)]
const tests = words.includes('short') ? SHORT : LONG
const chosen = words.filter((word) => word !== 'short')
const unknown = chosen.filter((name) => !(name in tests))
if (unknown.length > 0)
  throw new Error(`unknown: ${unknown.join(', ')}; expected some of ${Object.keys(tests).join(', ')}`)
if (options.length > 0 && chosen.length !== 1)
  throw new Error(`found options for ${chosen.length} tests, expected them for one`)
const queue = Object.entries(tests).filter(([name]) => chosen.length === 0 || chosen.includes(name))
await Promise.all(Array.from({ length: words.includes('short') ? SHORT_AT_ONCE : 1 }, runQueue))

async function runQueue() {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [name, flags] = next
    const child = spawn(process.execPath, [`scripts/crash/${name}.mjs`, ...flags, ...options], {
      stdio: 'inherit',
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) process.exitCode = 1
  }
}
