import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { DATAPROC, DATASET, makeModule, startModules } from '../../support/dataproc.js'
import { MODELS, putModel } from '../../support/models.js'
import { pairHeaders } from '../../support/start-gateway.js'

t.test('dataproc: more models than one input may hand over', async (t) => {
  const gateway = await startModules(t, { maxModels: 2 })
  makeModule(gateway.modulesDir, 'm', { run: 'ls input/*.model | wc -l >&2; exit 1' })
  for (const kind of ['a', 'b', 'c'])
    await putModel(gateway, new TextEncoder().encode(kind), { data: { model_kind: kind } })
  const run = async (more: object) =>
    (await gateway.exec('m', 'run', { input: { a: { model_store_ddc: 'rain', ...more } } })).body.error
  t.match(await run({}), {
    code: -32602,
    message: /\$\.input\.a: found more than 2 models.*dataproc\.maxModels/,
  })
  t.match(await run({ limit: 2 }), { data: { name: 'MODULE_FAILED', stderr: '2' } })
  t.match(await run({ query: { '=': ['model_kind', 'c'] } }), { data: { stderr: '1' } })
})

t.test('dataproc: a damaged model is told and not handed over', async (t) => {
  const gateway = await startModules(t)
  makeModule(gateway.modulesDir, 'm', { run: 'exit 0' })
  const { body } = await putModel(gateway, new TextEncoder().encode('to be lost'))
  const sha256 = body.model_sha256
  rmSync(path.join(gateway.dataDir, 'models', sha256.slice(0, 2), sha256))
  t.match((await gateway.exec('m', 'run', { input: { a: { model_store_ddc: 'rain' } } })).body.error, {
    data: { name: 'MODEL_DAMAGED', model_id: body.model_id },
  })
  t.same(gateway.names('runs'), [])
})

t.test('dataproc: modules elsewhere, a Node of their own, and a module that deletes itself', async (t) => {
  const elsewhere = t.testdir()
  const gateway = await startModules(t, {
    modulesDir: path.join(elsewhere, 'more'),
    nodePath: process.execPath,
    isolation: 'none',
  })
  t.same(
    (await gateway.call(DATAPROC, 'dataproc.list_modules', {})).body.result,
    [],
    'there is no such directory yet',
  )
  makeModule(
    path.join(elsewhere, 'more'),
    'm',
    { node: '', gone: 'rm -rf "$DATAPROC_MODULE_DIR"; exit 5' },
    { node: { path: 'a.cjs', args: ['x', '$HOME'] } },
  )
  writeFileSync(
    path.join(elsewhere, 'more/m/a.cjs'),
    'process.stderr.write(JSON.stringify([process.execPath, process.argv.slice(2)])); process.exit(3)',
  )
  t.match((await gateway.exec('m', 'node')).body.error, {
    data: { exit_code: 3, stderr: JSON.stringify([process.execPath, ['x', '$HOME']]) },
  })
  t.match((await gateway.exec('m', 'gone')).body.error, { data: { name: 'MODULE_FAILED', exit_code: 5 } })
  t.match((await gateway.exec('m', 'node')).body.error, { data: { name: 'UNKNOWN_MODULE' } })
})

t.test('dataproc: many rows go in and out in one transaction', async (t) => {
  const gateway = await startModules(t)
  const columns = [
    { column_name: 'k', data_type: 'int' },
    { column_name: 'v', data_type: 'double precision' },
  ]
  for (const dataset_name of ['from', 'to'])
    await gateway.call(DATASET, 'dataset.create', { dataset_name, columns, key_columns: ['k'] })
  const records = Array.from({ length: 30_000 }, (_, k) => [k, k / 2])
  t.match((await gateway.call(DATASET, 'dataset.record.put', { dataset_name: 'from', records })).body, {
    result: 30_000,
  })
  makeModule(gateway.modulesDir, 'm', {
    double: `awk -F, 'NR == 1 { print "k,v"; next } { printf "%d,%.1f\\n", $1, $2 * 2 }' input/a.csv > output/b.csv`,
    late: `awk -F, 'NR == 1 { print "k,v"; next } { printf "%d,%.1f\\n", $1, 7 }' input/a.csv > output/b.csv; echo 'x,1' >> output/b.csv`,
  })
  const call = { input: { a: { data_ddc: 'from' } }, output: { b: { data_ddc: 'to' } } }
  const read = async () => {
    await gateway.call(DATASET, 'dataset.citation.create', { citation_label: 'c', source: 'to' })
    const { body } = await gateway.call(DATASET, 'dataset.record.get', { citation_label: 'c', order: '-k' })
    return body.result
  }
  t.match((await gateway.exec('m', 'late', call)).body.error, {
    data: { name: 'BAD_OUTPUT', output: 'b', record: 30_001, column: 'k' },
  })
  t.equal((await read()).length, 0)
  t.match((await gateway.exec('m', 'double', call)).body, { result: true })
  const rows = await read()
  t.equal(rows.length, 30_000)
  t.same(rows[0], { k: 29_999, v: 29_999 })
  t.match((await gateway.call(MODELS, 'model_store.list', {})).body, { result: [] })
})

t.test('dataproc: a module is called by its folder or by its name, which is one module alone', async (t) => {
  const gateway = await startModules(t)
  const named = (folder: string, name: string) => {
    makeModule(gateway.modulesDir, folder, { run: 'exit 0' })
    const file = path.join(gateway.modulesDir, folder, 'definition.json')
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), name }))
  }
  named('mine', 'org.example.mine')
  for (const module of ['mine', 'org.example.mine'])
    t.match((await gateway.exec(module, 'run')).body, { result: true }, module)
  t.match((await gateway.exec('org.example', 'run')).body.error, {
    message: /^No module is named "org\.example", expected one of: .*org\.example\.mine/,
    data: { name: 'UNKNOWN_MODULE' },
  })
  named('other', 'org.example.mine')
  const twice = (await gateway.exec('org.example.mine', 'run')).body.error
  t.match(twice, {
    message: /found one name in the folders .*mine.*, expected two/,
    data: { name: 'BAD_MODULE' },
  })
})

t.test('dataproc: params that are a number beyond a double are refused with its digits', async (t) => {
  const gateway = await startModules(t)
  makeModule(gateway.modulesDir, 'm', { run: 'exit 0' })
  for (const number of ['1e400', '-12345678901234567890']) {
    const params = `{"module":"m","method":"run","params":${number}}`
    const response = await fetch(`${gateway.url}${DATAPROC}`, {
      method: 'POST',
      headers: { ...pairHeaders(gateway.admin), 'Content-Type': 'application/json' },
      body: `{"jsonrpc":"2.0","id":1,"method":"dataproc.exec","params":${params}}`,
    })
    t.match(await response.json(), {
      error: {
        message: `Invalid params: $.params: found ${number}, expected an object`,
        data: { name: 'INVALID_PARAMS' },
      },
    })
  }
  t.same(gateway.names('runs'), [], 'nothing ran')
})
