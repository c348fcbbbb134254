import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, symlinkSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { blocksOf, readPage } from '../support/docs.js'
import { spawnTied } from '../support/tied-process.js'
import { missing } from '../support/tools.js'

const PROGRAM = path.resolve('dist/fieldgate.cjs')
/** The address that the pages write. */
const WRITTEN_URL = 'http://127.0.0.1:8080'
/** Ports of a second and a third gateway on the pages. */
const WRITTEN_PORTS = ['8101', '8102']
/** The page whose first block the others build on. */
const FIRST_PAGE = 'docs/calling.md'

/** Pages in an order in which each finds what it needs, and what their output contains, in order. */
const PAGES: readonly { file: string; prints: readonly RegExp[]; needs?: readonly string[] }[] = [
  { file: 'README.md', prints: [/"length":7862\.48/, /"max_risk":0/] },
  { file: FIRST_PAGE, prints: [/"expires_in":3600/, /"data_num":/, /"maps":\[/] },
  {
    file: 'docs/tables.md',
    prints: [/"table_name":"rain_tbl_0"/, /"count_insert":1\b/, /"count_insert":1000\b/, /"mm":12\.5/],
  },
  { file: 'docs/routing.md', prints: [/"length":7862\.48/, /"risk":10/, /"costs":\[\[0,/, /"MultiPolygon"/] },
  {
    file: 'docs/datasets.md',
    prints: [/"level_m":"?2\.40?"?/, /ok|equal|unchanged/i, /[0-9a-f]{64} {2}state\.txt/],
  },
  {
    file: 'docs/models-and-sync.md',
    prints: [/"model_state":10/, /"model_state":20/, /"model_state":30/, /"model_state":40/],
    needs: ['jq'],
  },
  {
    file: 'docs/feeds.md',
    prints: [/Feeds can go to base/, /seen goes to base/, /idle, 0 rows behind/, /"_origin":"[0-9a-f-]{36}"/],
    needs: ['jq'],
  },
  {
    file: 'docs/fleet.md',
    prints: [
      /field version 1/,
      /up stops: applied/,
      /idle, 0 rows behind/,
      /truck-7: member/,
      /version 2/,
      /map town: applied/,
      /its data stay/,
    ],
    needs: ['jq'],
  },
  {
    file: 'docs/bundles.md',
    prints: [
      ...[
        /idle, 0 rows behind/,
        /Its fingerprint is/,
        /For depot: 1 rows, 0 models/,
        /rover: tracks: 1 rows written/,
      ],
      ...[/depot acknowledges 1 feeds/, /"k":1\b/, /"k":2\b/, /tracks: nothing new/, /idle, 0 rows behind/],
    ],
    needs: ['jq'],
  },
  { file: 'docs/dataproc.md', prints: [/"table_name":"wet_tbl_0"/, /^true$/m, /"theme":"wet"/] },
  {
    file: 'docs/standard-tools.md',
    prints: [/"numberReturned":\s*2/, /Feature Count/, /"tilejson"/],
    needs: ['ogrinfo', 'ogr2ogr'],
  },
  { file: 'docs/operations.md', prints: [/backup/i] },
]

const skip = existsSync(PROGRAM)
  ? missing('curl')
  : 'skipped: dist/fieldgate.cjs is absent; `npm run build` makes it'

t.test('docs: shell examples run as written against the demo gateway', { skip }, async (t) => {
  const cwd = t.testdir()
  for (const name of ['node_modules', 'dist', 'scripts'])
    symlinkSync(path.resolve(name), path.join(cwd, name))
  const { url, key } = await serveDemo(t, cwd)
  for (const { file, prints, needs = [] } of PAGES) {
    const skip = needs.map(missing).find((reason) => reason !== false) ?? false
    await t.test(file, { skip }, async (t) => {
      const output = await runPage(cwd, file, url, key)
      t.notMatch(output, /"requestId"/, 'no call is answered with an error')
      let from = 0
      for (const expected of prints) {
        const at = output.slice(from).search(expected)
        if (!t.ok(at >= 0, `${expected} in the output`)) t.comment(output.slice(-4000))
        from += Math.max(at, 0)
      }
    })
  }
})

t.test('docs: what a script left running ends with the test process', async (t) => {
  const { stdout, end, ended } = spawnTied(['bash', '-c', 'sleep 300 & echo begun; wait'], {
    cwd: t.testdir(),
    env: bareEnv(),
  })
  const lines = createInterface(stdout)[Symbol.asyncIterator]()
  t.match(await lines.next(), { value: 'begun' })
  end() // closes what the end of this process would close
  t.match(await ended, /ended with SIGKILL/)
  t.match(await lines.next(), { done: true }, 'nobody holds its output: sleep has ended, too')
})

interface KeyPair {
  apiKey: string
  secret: string
}

async function serveDemo(
  t: { teardown(work: () => unknown): unknown },
  cwd: string,
): Promise<{ url: string; key: KeyPair }> {
  const options = { cwd, env: bareEnv(), encoding: 'utf8' } as const
  const made = spawnSync(process.execPath, [PROGRAM, 'init', '--data-dir', 'data', '--json'], options)
  const serve = ['serve', '--demo', '--data-dir', 'data', '--port', '0', '--json']
  const { stdout, end, ended } = spawnTied([process.execPath, PROGRAM, ...serve], { cwd, env: bareEnv() })
  t.teardown(async () => {
    end()
    await ended
  })
  for await (const line of createInterface(stdout)) {
    if (line.startsWith('{"event":"ready"'))
      return { url: JSON.parse(line).url, key: JSON.parse(made.stdout) }
  }
  throw new Error('the gateway ended before it was ready')
}

/** @returns standard output of the page's blocks, run as one script; rejects when a command fails */
async function runPage(cwd: string, file: string, url: string, key: KeyPair): Promise<string> {
  const [first] = shellBlocks(FIRST_PAGE)
  const own = shellBlocks(file)
  let script = (file === FIRST_PAGE ? own : [first, ...own]).join('\n').replaceAll(WRITTEN_URL, url)
  for (const port of WRITTEN_PORTS) script = script.replaceAll(port, String(await freePort()))
  const program = `"${process.execPath}" "${PROGRAM}"`
  const before = [
    'set -eu -o pipefail',
    // what a page starts in the background ends with it
    "trap 'kill $(jobs -p) 2>/dev/null || true; wait || true' EXIT",
    `fieldgate() { ${program} "$@"; }`,
  ]
  const options = { cwd, env: { ...bareEnv(), K: key.apiKey, S: key.secret } }
  const { stdout, end, ended } = spawnTied(['bash', '-c', [...before, script].join('\n')], options)
  const printed = text(stdout)
  const fault = await ended
  end()
  if (fault !== undefined) throw new Error(`${file}: ${fault}\n${await printed}`)
  return await printed
}

function shellBlocks(file: string): string[] {
  return blocksOf(readPage(file))
    .filter(({ language, notRun }) => language === 'sh' && notRun === undefined)
    .map(({ text }) => text)
}

/** Neither settings nor the test loader of this process reach the programs. */
function bareEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: process.env.HOME }
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  return port
}
