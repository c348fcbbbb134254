import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { ErrorName } from '../../../src/errors.js'
import { DATAPROC, DATASET, makeModule, startModules } from '../../support/dataproc.js'
import { pairHeaders } from '../../support/start-gateway.js'

/** Params of `dataproc.exec`, error, and what its message must say. */
type BadCall = [unknown, ErrorName, RegExp]

const run = (more: object = {}) => ({ module: 'm', method: 'run', ...more })
const input = (value: unknown) => run({ input: { a: value } })
const output = (value: unknown) => run({ output: { a: value } })

const BAD_CALLS: BadCall[] = [
  [{}, 'INVALID_PARAMS', /\$\.module/],
  [[1], 'INVALID_PARAMS', /expected an object/],
  [{ module: 7, method: 'run' }, 'INVALID_PARAMS', /\$\.module/],
  [{ module: 'm' }, 'INVALID_PARAMS', /\$\.method/],
  [run({ module: 'x'.repeat(201) }), 'INVALID_PARAMS', /\$\.module/],
  [run({ module: 'nobody' }), 'UNKNOWN_MODULE', /named "nobody"/],
  [run({ module: '../m' }), 'UNKNOWN_MODULE', /named "\.\.\/m"/],
  [run({ module: 'link' }), 'BAD_MODULE', /found a symbolic link/],
  [run({ method: 'walk' }), 'UNKNOWN_SCRIPT', /has no method "walk", expected one of run, /],
  [run({ extra: 1 }), 'INVALID_PARAMS', /extra/],
  [run({ input: [] }), 'INVALID_PARAMS', /\$\.input/],
  [run({ params: [] }), 'INVALID_PARAMS', /\$\.params/],
  [input(null), 'INVALID_PARAMS', /\$\.input\.a/],
  [input({}), 'INVALID_PARAMS', /\$\.input\.a: found an object, expected either data_ddc or model_store_ddc/],
  [
    input({ data_ddc: 'd', model_store_ddc: 's' }),
    'INVALID_PARAMS',
    /expected either data_ddc or model_store_ddc/,
  ],
  [input({ data_ddc: 'd', colour: 1 }), 'INVALID_PARAMS', /colour/],
  [input({ data_ddc: 'nothing' }), 'UNKNOWN_DATASET', /named "nothing"/],
  [input({ data_ddc: 'd', query: { '=': ['x', 1] } }), 'BAD_CONDITION', /\$\.input\.a\.query.*"x"/],
  [input({ data_ddc: 'd', order: 'x' }), 'BAD_CONDITION', /\$\.input\.a\.order/],
  [input({ data_ddc: 'd', limit: -1 }), 'INVALID_PARAMS', /\$\.input\.a\.limit/],
  [input({ model_store_ddc: 'nothing' }), 'UNKNOWN_STORE', /named "nothing"/],
  [input({ model_store_ddc: 's', query: { '=': ['x', 1] } }), 'BAD_CONDITION', /\$\.input\.a\.query/],
  [output({}), 'INVALID_PARAMS', /\$\.output\.a/],
  [output({ data_ddc: 'nothing' }), 'UNKNOWN_DATASET', /named "nothing"/],
  [output({ data_ddc: 'cited' }), 'INVALID_PARAMS', /\$\.output\.a\.data_ddc: found the citation cited/],
  [output({ data_ddc: 'd', on_conflict: 'maybe' }), 'INVALID_PARAMS', /on_conflict/],
  [output({ model_store_ddc: 'a\u0001b' }), 'INVALID_PARAMS', /control characters/],
  [output({ model_store_ddc: 'new' }), 'UNKNOWN_STORE', /named "new"/],
  [
    run({ method: 'typed' }),
    'INVALID_PARAMS',
    /\$\.input\.rain: found nothing, expected data_ddc \(and 1 more\)/,
  ],
  [
    run({ method: 'typed', input: { rain: { model_store_ddc: 's' } } }),
    'INVALID_PARAMS',
    /found model_store_ddc, expected data_ddc/,
  ],
  [
    run({ method: 'typed', input: { rain: { data_ddc: 'd' }, snow: { data_ddc: 'd' } } }),
    'INVALID_PARAMS',
    /\$\.input\.snow|\$\.output/,
  ],
  [run({ method: 'gone' }), 'BAD_MODULE', /gone\.sh: is missing/],
  [run({ method: 'outside' }), 'BAD_MODULE', /is outside the folder/],
  [run({ method: 'plain' }), 'BAD_MODULE', /plain\.txt: is not executable/],
  [run({ method: 'folder' }), 'BAD_MODULE', /is not a regular file/],
  [run({ method: 'garbled' }), 'MODULE_FAILED', /exit code/],
]

t.test('dataproc.exec: every bad call says what was found and what was expected', async (t) => {
  const gateway = await startModules(t, {}, { modelStore: { autoCreate: false } })
  const { modulesDir } = gateway
  const slots = { input: { rain: { kind: 'data' } }, output: { risk: { kind: 'data' } } }
  makeModule(
    modulesDir,
    'm',
    { run: 'exit 0', typed: 'exit 0', gone: '', outside: '', plain: '', folder: '', garbled: '' },
    {
      typed: slots,
      outside: { path: 'out.sh' },
      plain: { path: 'plain.txt' },
      folder: { path: 'sub' },
      garbled: { path: 'garbled' },
    },
  )
  const m = path.join(modulesDir, 'm')
  rmSync(path.join(m, 'gone.sh'))
  symlinkSync('/bin/sh', path.join(m, 'out.sh'))
  writeFileSync(path.join(m, 'plain.txt'), 'x')
  mkdirSync(path.join(m, 'sub'))
  writeFileSync(path.join(m, 'garbled'), '\u007fELF no program')
  chmodSync(path.join(m, 'garbled'), 0o755)
  symlinkSync(m, path.join(modulesDir, 'link'))
  await gateway.call(DATASET, 'dataset.create', {
    dataset_name: 'd',
    columns: [{ column_name: 'k', data_type: 'int' }],
  })
  await gateway.call(DATASET, 'dataset.citation.create', { citation_label: 'cited', source: 'd' })
  await gateway.call('/api/v2/model_store/jsonrpc', 'model_store.create', { model_store_ddc: 's' })
  for (const [params, name, message] of BAD_CALLS) {
    const { body } = await gateway.call(DATAPROC, 'dataproc.exec', params)
    t.equal(body.error?.data.name, name, JSON.stringify(params).slice(0, 100))
    t.match(body.error?.message, message, JSON.stringify(params).slice(0, 100))
  }
  for (const method of ['dataproc.get_server_version', 'dataproc.list_modules']) {
    t.match((await gateway.call(DATAPROC, method, { x: 1 })).body.error, { code: -32602 })
    t.match((await gateway.call(DATAPROC, method)).body, {
      result: method.endsWith('version') ? '1.2.3' : Array,
    })
  }
  t.same(gateway.names('runs'), [])
})

t.test('dataproc: faults of a definition are named with file and path, all at once', async (t) => {
  const gateway = await startModules(t)
  const make = (name: string, text: string) => {
    mkdirSync(path.join(gateway.modulesDir, name), { recursive: true })
    writeFileSync(path.join(gateway.modulesDir, name, 'definition.json'), text)
  }
  const script = { path: 'a.sh', type: 'training' }
  const cases: [string, unknown, RegExp[]][] = [
    ['no-json', '{', [/definition\.json: \$ is not valid JSON/]],
    ['list', [], [/definition\.json: \$ .*expected an object/]],
    [
      'many',
      {
        name: 'a b',
        colour: 1,
        scripts: { 'a/b': script, c: { path: '../x', type: 'cooking', args: ['a\u0000'] } },
      },
      [
        /\$\.name found "a b", expected 1 to 63/,
        /colour/,
        /\$\.scripts\["a\/b"\]/,
        /\$\.scripts\.c\.path found "..\/x", expected a path below/,
        /\$\.scripts\.c\.type/,
        /\$\.scripts\.c\.args\[0\] found .*, expected text without the character U\+0000/,
      ],
    ],
    ['abs', { name: 'abs', scripts: { a: { ...script, path: '/bin/sh' } } }, [/\$\.scripts\.a\.path/]],
    [
      'slot',
      { name: 'slot', scripts: { a: { ...script, input: { x: { kind: 'rain', optinal: true } } } } },
      [/input\.x\.kind/, /optinal/],
    ],
    ['labels', { name: 'labels', scripts: { a: { ...script, output: { '../x': {} } } } }, [/output/]],
  ]
  for (const [name, definition] of cases)
    make(name, typeof definition === 'string' ? definition : JSON.stringify(definition))
  mkdirSync(path.join(gateway.modulesDir, 'empty'))
  make(
    'good',
    JSON.stringify({
      name: 'good',
      description: 'd',
      supports: ['x'],
      definitions: { y: 1 },
      scripts: { a: script },
    }),
  )
  const { result } = (await gateway.call(DATAPROC, 'dataproc.list_modules', {})).body
  t.match(
    result.find(({ name }: { name: string }) => name === 'good'),
    {
      supports: ['x'],
      definitions: { y: 1 },
      scripts: { a: { path: 'a.sh', args: [], type: 'training', input: {}, output: {} } },
    },
  )
  t.match(result.find(({ name }: { name: string }) => name === 'empty').faults, [
    { path: 'definition.json', message: 'is missing' },
  ])
  for (const [name, , wanted] of cases) {
    const { faults } = result.find((one: { name: string }) => one.name === name)
    const lines = faults
      .map(({ path: at, message }: { path: string; message: string }) => `${at} ${message}`)
      .join('\n')
    for (const pattern of wanted) t.match(lines, pattern, name)
    const { error } = (await gateway.exec(name, 'a')).body
    t.match(error, { code: 3003, data: { name: 'BAD_MODULE', module: name } })
    t.same(error.data.faults, faults)
  }
})

t.test('dataproc: a key may do with modules what its scopes allow without them, and no more', async (t) => {
  const gateway = await startModules(t)
  makeModule(gateway.modulesDir, 'm', { run: `printf 'k\\n1\\n' > output/a.csv` })
  await gateway.call(DATASET, 'dataset.create', {
    dataset_name: 'd',
    columns: [{ column_name: 'k', data_type: 'int' }],
  })
  const calls: [string[], object, string | null][] = [
    [['dataproc:read'], {}, 'dataproc:write'],
    [['session:write', 'dataset:write'], {}, 'dataproc:write'],
    [['dataproc:write'], {}, null],
    [['dataproc:write'], { input: { a: { data_ddc: 'd' } } }, 'dataset:read'],
    [['dataproc:write', 'dataset:read'], { input: { a: { data_ddc: 'd' } } }, null],
    [['dataproc:write', 'dataset:read'], { output: { a: { data_ddc: 'd' } } }, 'dataset:write'],
    [['dataproc:write', 'dataset:write'], { output: { a: { data_ddc: 'd' } } }, null],
    [['dataproc:write'], { output: { a: { model_store_ddc: 's' } } }, 'model:write'],
    [['dataproc:write'], { input: { a: { model_store_ddc: 's' } } }, 'model:read'],
  ]
  for (const [scopes, more, missing] of calls) {
    const key = await gateway.makeKey(scopes)
    const { status, body } = await gateway.exec('m', 'run', more, pairHeaders(key))
    if (missing === null) t.equal(body.result, true, scopes.join())
    else
      t.match(
        { status, ...body },
        { status: 403, error: { data: { name: 'FORBIDDEN', scope: missing } } },
        scopes.join(),
      )
  }
  const reader = pairHeaders(await gateway.makeKey(['dataproc:read']))
  t.equal((await gateway.call(DATAPROC, 'dataproc.get_server_version', {}, reader)).body.result, '1.2.3')
  t.equal((await gateway.call(DATAPROC, 'dataproc.get_server_version', {}, {})).status, 401)
})
