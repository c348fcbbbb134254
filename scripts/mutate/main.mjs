// npm run mutate -- ROOM …: changes the code of a room in small ways, one at a time, and lists the changes
// that no test notices (Stryker with its tap runner). ROOM is a folder or a file below src/, such as `auth`
// or `routing/search/cost.ts`; its tests are those at the same place below test/, and more by
// --tests=PATTERN,… and fewer by --without=PATTERN,… (long tests of a whole city: the score is a lower bound
// then). Options: --share=0.1 (only a tenth of the statements, chosen by --seed=N), --concurrency=N (2),
// --timeout=N (15: seconds beyond the usual time of the tests after which a change counts as noticed),
// --incremental (only what changed since the last run of the same rooms), --html (a page with each change in
// its place, in build/mutate).
import { existsSync, globSync, statSync } from 'node:fs'
import path from 'node:path'
import { Stryker } from '@stryker-mutator/core'

/** Further tests of a room, besides those at its own place: folders or files below test/. */
const MORE_TESTS = {
  auth: ['api/session'],
  rpc: ['api/session'],
  'rpc/dispatch.ts': ['rpc/dispatch-streams.test.ts'],
  'storage/columns': ['storage/sqlite/tables'],
  'storage/columns/condition.ts': ['storage/columns/condition-*.test.ts'],
  'storage/sqlite/connection/condition-sql.ts': ['storage/columns/condition*.test.ts'],
  'storage/sqlite/tables/writer.ts': ['storage/sqlite/tables'],
}

process.env.PATH = `${path.dirname(process.execPath)}:${process.env.PATH}` // the runner starts `node`
const words = process.argv.slice(2)
const rooms = words.filter((word) => !word.startsWith('--'))
const option = (name) => words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3)
const faults = rooms
  .filter((room) => !existsSync(path.join('src', room)))
  .map((room) => `src/${room} is missing`)
if (rooms.length === 0) faults.push('name at least one folder or file below src/')
const testFiles = globSync([...rooms.flatMap(testsOf), ...(option('tests')?.split(',') ?? [])], {
  exclude: option('without')?.split(',') ?? [],
})
  .filter((file) => file.endsWith('.test.ts'))
  .sort()
if (testFiles.length === 0) faults.push(`no test is at the place of ${rooms.join(', ')} below test/`)
if (faults.length > 0) {
  console.error(`mutate: ${faults.join('; ')}`)
  process.exit(2)
}

process.env.MUTATE_SHARE = option('share') ?? '1'
process.env.MUTATE_SEED = option('seed') ?? '1'
const stryker = new Stryker({
  mutate: rooms.map(sourcesOf),
  testRunner: 'tap',
  plugins: ['@stryker-mutator/tap-runner', path.resolve('scripts/mutate/sample.mjs')],
  ignorers: ['sample'],
  tap: {
    testFiles,
    nodeArgs: [
      '--no-warnings',
      '--import',
      './scripts/test/load-typescript.mjs',
      '-r',
      '{{hookFile}}',
      '{{testFile}}',
    ],
    forceBail: true,
  },
  coverageAnalysis: 'perTest',
  concurrency: Number(option('concurrency') ?? 2),
  incremental: words.includes('--incremental'),
  incrementalFile: `build/mutate/${rooms.join('+').replaceAll('/', '-')}.json`,
  reporters: ['clear-text', 'progress', ...(words.includes('--html') ? ['html'] : [])],
  htmlReporter: { fileName: 'build/mutate/index.html' },
  // text of messages and log lines says nothing about behaviour; tests that quote them compare them with
  // patterns
  mutator: { excludedMutations: ['StringLiteral', 'ObjectLiteral'] },
  // at the top only: rooms have folders of these names, too
  ignorePatterns: ['/build', '/data', '/.tap', '/docs', '/test/golden'],
  tempDirName: 'build/mutate-sandbox',
  timeoutMS: Number(option('timeout') ?? 15) * 1000,
  checkers: [],
  allowConsoleColors: false,
  thresholds: { high: 90, low: 80, break: null },
})
await stryker.runMutationTest()

function sourcesOf(room) {
  return statSync(path.join('src', room)).isDirectory() ? `src/${room}/**/*.ts` : `src/${room}`
}

function testsOf(room) {
  const isFolder = statSync(path.join('src', room)).isDirectory()
  const own = isFolder ? room : `${room.replace(/\.ts$/, '')}.test.ts`
  return [own, ...(MORE_TESTS[room] ?? [])].map((place) =>
    place.endsWith('.ts') ? `test/${place}` : `test/${place}/**/*.test.ts`,
  )
}
