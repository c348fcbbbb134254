import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'

/**
 * Short forms of the tests under scripts/crash: gateways as processes of their own, killed and cut off. The long ones
 * are `npm run crash`.
 */
const SHORT: [name: string, flags: string[]][] = [
  ['kill', ['--kills', '5', '--maxBytes', '2000000', '--maxStartMs', '60000']],
  ['bad-link', ['--sizeBytes', '2500000', '--latencyMs', '1', '--stallEvery', '8', '--stallMs', '200']],
  ['size', ['--sizeBytes', '60000000', '--maxRssBytes', '260000000']],
  ['disk-full', []],
  ['backup', ['--backups', '4', '--models', '60', '--modelBytes', '200000', '--pauseMs', '300']],
]

const skip = existsSync('dist/fieldgate.cjs')
  ? false
  : 'dist/fieldgate.cjs is not there: npm run build makes it'

for (const [name, flags] of SHORT) {
  t.test(`crash: ${name}, short form`, { skip, timeout: 240_000 }, async (t) => {
    const args = [`scripts/crash/${name}.mjs`, ...flags]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: plainEnv() }).catch(
      (error) => error,
    )
    const result = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}')
    if (typeof result.skipped === 'string') return t.comment(`${name} skipped: ${result.skipped}`)
    t.same(result.faults, [])
    t.equal(result.ok, true)
    t.comment(stdout.trim())
  })
}

/** Without the test runner's loaders, which would be loaded into each gateway. */
function plainEnv(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...env } = process.env
  return env
}
