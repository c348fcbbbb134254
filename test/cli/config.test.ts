import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { configJsonSchema } from '../../src/config/config.js'
import { cli } from '../support/run-cli.js'

/** A folder with settings files: name → content. */
function folderWith(t: Test, files: Record<string, unknown>): string {
  const cwd = t.testdir()
  for (const [name, settings] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true })
    writeFileSync(path.join(cwd, name), JSON.stringify(settings))
  }
  return cwd
}

async function print(cwd: string, argv: string[] = [], env: Record<string, string> = {}) {
  const { stdout } = await cli(cwd, ['config', 'print', '--json', ...argv], env)
  return JSON.parse(stdout) as {
    file: string | null
    dataDir: string
    settings: Record<string, { value: unknown; origin: string }>
  }
}

t.test('config print: each setting with its value and origin', async (t) => {
  const cwd = folderWith(t, {
    'edge.config.json': { server: { port: 81 }, riskmap: { themes: { 'a.b': 'c', a: 'd' } } },
  })
  const { settings } = await print(cwd, [], { FIELDGATE_LIMITS__BATCH: '9' })
  t.match(settings, {
    'server.port': { value: 81, origin: 'file' },
    'limits.batch': { value: 9, origin: 'environment' },
    'server.host': { value: '127.0.0.1', origin: 'default' },
    'riskmap.themes.a.b': { value: 'c', origin: String },
    'riskmap.themes.a': { value: 'd', origin: 'file' },
  })
  const { stdout } = await cli(cwd, ['config', 'print'])
  t.match(stdout, /^server\.port = 81 {2}\(file\)$/m)
})

t.test(
  'config: the file is --config, else FIELDGATE_CONFIG, else ./edge.config.json, else none',
  async (t) => {
    const port = (n: number) => ({ server: { port: n } })
    const cwd = folderWith(t, {
      'flag.json': port(1),
      'env.json': port(2),
      'edge.config.json': port(3),
      'empty/.keep': 0,
    })
    const portOf = async (argv: string[], env: Record<string, string>, dir = cwd) =>
      (await print(dir, argv, env)).settings['server.port']?.value
    t.equal(await portOf(['--config', 'flag.json'], { FIELDGATE_CONFIG: 'env.json' }), 1)
    t.equal(await portOf([], { FIELDGATE_CONFIG: 'env.json' }), 2)
    t.equal(await portOf([], { FIELDGATE_CONFIG: '' }), 3)
    t.equal(await portOf([], {}), 3)
    t.equal(await portOf([], {}, path.join(cwd, 'empty')), 8080)
  },
)

t.test('config: a relative data directory is meant from where it is said', async (t) => {
  const cwd = folderWith(t, { 'conf/a.json': { dataDir: 'mine' }, 'conf/b.json': {}, 'x/.keep': 0 })
  const dirOf = async (argv: string[], env: Record<string, string> = {}) =>
    (await print(cwd, argv, env)).dataDir
  t.equal(await dirOf(['--config', 'conf/a.json']), path.join(cwd, 'conf/mine'), 'the folder of the file')
  t.equal(
    await dirOf(['--config', 'conf/b.json']),
    path.join(cwd, 'conf/data'),
    'the default, beside the file',
  )
  t.equal(await dirOf([]), path.join(cwd, 'data'), 'the current folder without a file')
  t.equal(await dirOf(['--config', 'conf/a.json', '--data-dir', 'flag']), path.join(cwd, 'flag'))
  t.equal(await dirOf(['--config', 'conf/a.json'], { FIELDGATE_DATA_DIR: 'env' }), path.join(cwd, 'env'))
  t.equal(await dirOf(['--data-dir', '/abs']), '/abs')
})

t.test('config: other paths of the file are meant from its folder too', async (t) => {
  const server = { tlsCertFile: 'cert.pem', tlsKeyFile: '/abs/key.pem' }
  const cwd = folderWith(t, { 'conf/a.json': { server, routing: { maps: ['porto.graph', '/srv/x.graph'] } } })
  const { settings } = await print(cwd, ['--config', 'conf/a.json'])
  t.equal(settings['server.tlsCertFile']?.value, path.join(cwd, 'conf/cert.pem'))
  t.equal(settings['server.tlsKeyFile']?.value, '/abs/key.pem')
  t.same(settings['routing.maps']?.value, [path.join(cwd, 'conf/porto.graph'), '/srv/x.graph'])
})

t.test('config check: ok is exit code 0', async (t) => {
  const cwd = folderWith(t, { 'edge.config.json': { server: { port: 81 } } })
  t.match(await cli(cwd, ['config', 'check']), {
    code: 0,
    stdout: /^ok: .*edge\.config\.json\n$/,
    stderr: '',
  })
  t.match(JSON.parse((await cli(cwd, ['config', 'check', '--json'])).stdout), { ok: true, faults: [] })
})

t.test('config check: every fault has a line, exit code 1', async (t) => {
  const cwd = folderWith(t, { 'edge.config.json': { server: { port: -1 }, colour: 'red' } })
  const { code, stdout, stderr } = await cli(cwd, ['config', 'check'], { FIELDGATE_NOPE: '1' })
  t.same([code, stdout], [1, ''])
  t.equal(stderr.trim().split('\n').length, 3)
  for (const place of ['server.port', 'colour', 'FIELDGATE_NOPE'])
    t.match(stderr, new RegExp(`^fieldgate: ${place}: `, 'm'))
  const json = await cli(cwd, ['config', 'check', '--json'])
  t.equal(json.code, 1)
  t.match(JSON.parse(json.stdout), { ok: false, faults: [{ path: String, message: String }, {}] })
})

t.test('config check: the file may be named as the argument', async (t) => {
  const cwd = folderWith(t, { 'good.json': {}, 'bad.json': { server: { port: -1 } } })
  t.match(await cli(cwd, ['config', 'check', 'good.json']), { code: 0, stdout: /^ok: \S+good\.json\n$/ })
  t.match(await cli(cwd, ['config', 'check', 'bad.json']), {
    code: 1,
    stderr: /^fieldgate: server\.port: found -1, expected [^\n]* \(bad\.json, line 1\)\n$/,
  })
  t.match(await cli(cwd, ['config', 'check', 'good.json', '--config', 'bad.json']), {
    code: 2,
    stderr: /^fieldgate: name one settings file: as the argument, or with --config\n$/,
  })
})

t.test('config: other verbs print every fault in one line and do nothing', async (t) => {
  const cwd = folderWith(t, { 'edge.config.json': { server: { port: -1 }, colour: 'red' } })
  for (const argv of [['init'], ['serve'], ['config', 'print'], ['key', 'list'], ['map', 'list']]) {
    const { code, stdout, stderr } = await cli(cwd, argv)
    t.same([code, stdout], [1, ''], argv.join(' '))
    t.match(
      stderr,
      /^fieldgate: the settings have 2 fault\(s\): server\.port: [^\n]*; colour: is not a setting, expected only [^\n]* \(edge\.config\.json, line 1\)\n$/,
    )
  }
})

t.test('config: a file that is named and not there', async (t) => {
  t.match(await cli(t.testdir(), ['config', 'check', '--config', 'none.json']), {
    code: 1,
    stderr: /none\.json: does not exist\n$/,
  })
})

t.test('config schema: the JSON Schema of the file', async (t) => {
  const { stdout } = await cli(t.testdir(), ['config', 'schema'])
  t.same(JSON.parse(stdout), JSON.parse(JSON.stringify(configJsonSchema())))
})

t.test('config check: checks that files named in settings exist', async (t) => {
  const cwd = folderWith(t, { 'edge.config.json': { server: { tlsCertFile: 'a.pem', tlsKeyFile: 'b.pem' } } })
  t.match(await cli(cwd, ['config', 'check']), {
    code: 1,
    stdout: '',
    stderr: /^fieldgate: server\.tlsCertFile: the file \S+a\.pem does not exist; put [^\n]+\n$/,
  })
})
