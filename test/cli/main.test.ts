import t from 'tap'
import { oneLine } from '../../src/cli/io.js'
import { listVerbs } from '../../src/cli/main.js'
import { cli, idleDeps } from '../support/run-cli.js'

t.test('cli: wrong usage ends with exit code 2 and one line of advice on stderr', async (t) => {
  const table: [argv: string[], line: RegExp][] = [
    [[], /expected a verb; `fieldgate help` lists them/],
    [['key'], /expected a verb; `fieldgate help key` lists them/],
    [['config'], /expected a verb; `fieldgate help config` lists them/],
    [['map'], /expected a verb/],
    [['help', 'nope'], /no verb is named "nope": expected one of serve, init, key/],
    [['help', 'serv'], /no verb is named "serv": did you mean serve\?/],
    [['help', 'ky'], /did you mean key\?/],
    [['help', 'key', 'rotat'], /no verb of key is named "rotat": did you mean rotate\?/],
    [['help', 'serve', 'x'], /serve has no sub-verbs, found "x"/],
    [['key', 'help', 'nope'], /no verb of key is named "nope": expected one of create, list, rotate, revoke/],
    [['nonsense'], /unknown command 'nonsense'; see `fieldgate help`$/m],
    [['serv'], /unknown command 'serv' \(Did you mean serve\?\)/],
    [['key', 'nonsense'], /unknown command 'nonsense'/],
    [['--nonsense'], /unknown option '--nonsense'/],
    [['init', '--jsno'], /unknown option '--jsno' \(Did you mean --json\?\)/],
    [['init', 'extra'], /too many arguments/],
    [['--config'], /'--config <file>' argument missing/],
    [['serve', '--port', 'eighty'], /'eighty' is invalid. Expected 0 to 65535/],
    [['serve', '--port', '65536'], /Expected 0 to 65535/],
    [['serve', '--port', '-1'], /Expected 0 to 65535|argument missing/],
    [['serve', '--port', '80.5'], /Expected 0 to 65535/],
    [['key', 'create', '--scope', 'admin'], /'--name <name>' not specified/],
    [['key', 'create', '--name', 'n'], /'--scope <scope...>' not specified/],
    [['key', 'create', '--name', 'n', '--scope', 'map'], /found "map", expected some of admin, session:read/],
    [['key', 'create', '--name', ' ', '--scope', 'admin'], /Expected 1 to 100 characters/],
    [
      ['key', 'create', '--name', 'a\u0007b', '--scope', 'admin'],
      /Expected 1 to 100 characters without control characters;/,
    ],
    [['key', 'create', '--name', 'x'.repeat(101), '--scope', 'admin'], /Expected 1 to 100 characters/],
    [
      ['key', 'create', '--name', 'n', '--scope', 'admin', '--expires-in', 'soon'],
      /such as 45s, 30m, 12h or 90d/,
    ],
    [['key', 'rotate'], /missing required argument 'key'; see `fieldgate help key rotate`$/m],
    [
      ['--data-dir', 'key', 'key', 'rotate'],
      /missing required argument 'key'; see `fieldgate help key rotate`$/m,
    ],
    [['key', 'rotate', 'k', '--overlap', '3651d'], /at most 3650d/],
    [['key', 'revoke'], /missing required argument 'key'/],
  ]
  const cwd = t.testdir()
  for (const [argv, line] of table) {
    const { code, stdout, stderr } = await cli(cwd, argv)
    t.equal(code, 2, argv.join(' '))
    t.equal(stdout, '')
    t.match(stderr, line)
    t.match(stderr, /^fieldgate: [^\n]+\n$/, 'one line')
  }
})

t.test('cli: every form of help prints to stdout with exit code 0', async (t) => {
  const cwd = t.testdir()
  for (const argv of [
    ['help'],
    ['--help'],
    ['-h'],
    ['help', 'key'],
    ['help', 'key', 'create'],
    ['key', '--help'],
    ['key', 'help', 'create'],
    ['serve', '-h'],
  ]) {
    const { code, stdout, stderr } = await cli(cwd, argv)
    t.same([code, stderr], [0, ''], argv.join(' '))
    t.match(stdout, /^Usage: fieldgate/)
    t.match(stdout, /--data-dir <dir>/, 'the global options are listed')
  }
})

t.test('cli: version as a verb, as a flag and as JSON', async (t) => {
  const cwd = t.testdir()
  t.match(await cli(cwd, ['version']), {
    code: 0,
    stdout: /^fieldgate 1\.2\.3 \(Node \d+\.\d+\.\d+, linux-\w+\)\n$/,
  })
  t.match(await cli(cwd, ['--version']), { code: 0, stdout: '1.2.3\n' })
  const { stdout } = await cli(cwd, ['version', '--json'])
  t.match(JSON.parse(stdout), { version: '1.2.3', node: process.versions.node })
})

t.test('cli: global options are accepted before and after the verb', async (t) => {
  const cwd = t.testdir()
  const a = JSON.parse((await cli(cwd, ['--json', '--data-dir', 'd', 'init'])).stdout)
  const b = JSON.parse((await cli(cwd, ['init', '--data-dir', 'd', '--json'])).stdout)
  t.equal(a.nodeId, b.nodeId)
})

t.test('cli: each verb has a description', async (t) => {
  const { io, deps } = idleDeps(t.testdir())
  const verbs = await listVerbs(io, deps)
  for (const { usage, description } of verbs) t.ok(description.length > 10, usage)
  const names = verbs.map(({ usage }) => usage.split(' [')[0])
  for (const name of ['serve', 'init', 'version', 'key create', 'config check', 'map build']) {
    t.ok(names.includes(name), name)
  }
})

t.test('oneLine: replaces control characters and line breaks', async (t) => {
  t.equal(oneLine(new Error('a\nb\u001b[31mc\u0085d')), 'a b [31mc d')
  t.equal(oneLine('error: x'), 'x')
  t.equal(oneLine('x'.repeat(2000)).length, 1001)
})
