import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { createBlobStore } from '../../../src/files/blob-store.js'
import { layoutOf } from '../../../src/files/layout.js'
import { columns, definition, openDatasets } from '../../support/datasets.js'
import { type CliRun, cli } from '../../support/run-cli.js'

type Run = (...argv: string[]) => Promise<CliRun>
type Tap = { testdir(): string; teardown(work: () => unknown): unknown }

/** A data directory with a cited dataset of three rows, and the program in its folder. */
async function cited(
  t: Tap,
): Promise<{ dir: string; run: Run; longForm: string; layout: ReturnType<typeof layoutOf> }> {
  const dir = t.testdir()
  const run: Run = (...argv) => cli(dir, [...argv, '--data-dir', 'data'])
  await run('init')
  const layout = layoutOf(path.join(dir, 'data'))
  const { store, close } = openDatasets(layout.dataDb)
  await store.create(definition('roads', columns('id bigint', 'name text?', 'line geometry?'), ['id']))
  await store.put(
    'roads',
    [
      [1, 'one', 'LINESTRING(139 35, 140 36)'],
      [2, '', null],
      ['9223372036854775807', null, null],
    ],
    'error',
  )
  const { longForm } = await store.cite('paper', 'roads')
  await store.settled()
  await store.put('roads', [[1, 'changed', null]], 'update')
  await close()
  return { dir, run, longForm, layout }
}

t.test('cite verify: reads every citation again, exit code 1 when one differs', async (t) => {
  const { run, longForm, layout } = await cited(t)
  const good = await run('cite', 'verify')
  t.match(good, { code: 0, stderr: '' })
  t.match(good.stdout, new RegExp(`^ok +${longForm} +3 rows +sha256 [0-9a-f]{64}\n$`))
  const db = new Database(layout.dataDb)
  const [history] = db.prepare("SELECT name FROM sqlite_schema WHERE name LIKE '%_history'").pluck().all()
  db.exec(`UPDATE "${history}" SET name = 'One'`)
  db.close()
  const bad = await run('cite', 'verify', 'paper', '--json')
  t.equal(bad.code, 1)
  const [fact] = JSON.parse(bad.stdout)
  t.match(fact, { long_form: longForm, state: 'different', rows: 3 })
  t.not(fact.checksum, fact.found)
  t.match((await run('cite', 'verify')).stdout, /^different .*, recorded was [0-9a-f]{64}\n$/)
})

t.test('cite verify: a checksum that is not worked out yet is no fault', async (t) => {
  const { run, layout } = await cited(t)
  const db = new Database(layout.dataDb)
  db.exec('UPDATE citation SET checksum = NULL')
  db.close()
  t.match(await run('cite', 'verify'), { code: 0, stdout: /^pending / })
})

t.test('cite export and import: by the end of the file name, into a new dataset', async (t) => {
  const { dir, run, longForm } = await cited(t)
  for (const end of ['gpkg', 'geojson', 'csv']) {
    const made = await run('cite', 'export', longForm, '-o', `out.${end}`, '--json')
    t.match(made, { code: 0, stderr: '' }, end)
    t.match(JSON.parse(made.stdout), { long_form: longForm, rows: 3, output: path.join(dir, `out.${end}`) })
  }
  t.equal(
    readFileSync(path.join(dir, 'out.csv'), 'utf8'),
    'id,name,line\r\n1,one,"LINESTRING (139 35, 140 36)"\r\n2,"",\r\n9223372036854775807,,\r\n',
  )
  const imported = await run('cite', 'import', 'out.gpkg', '--dataset', 'copy')
  t.match(imported, { code: 0, stderr: '' })
  t.equal(imported.stdout, '3 records are written to the dataset copy, which was created\n')
  const again = await run(
    'cite',
    'import',
    'out.geojson',
    '--dataset',
    'copy',
    '--on-conflict',
    'nothing',
    '--json',
  )
  t.same(JSON.parse(again.stdout), { dataset: 'copy', made: false, written: 0 })
  t.match(await run('cite', 'import', 'out.csv', '--dataset', 'copy'), {
    code: 1,
    stderr: /records\[0\]: a record with id 1 already exists/,
  })
  t.match(await run('cite', 'import', 'out.csv', '--dataset', 'none'), {
    code: 1,
    stderr: /does not describe its columns/,
  })
})

t.test('cite export: the canonical text is what the checksum is made of', async (t) => {
  const { dir, run, longForm } = await cited(t)
  await run('cite', 'export', 'paper', '-o', 'state.txt', '--format', 'canonical')
  t.equal(
    readFileSync(path.join(dir, 'state.txt'), 'utf8').split('\n')[0],
    '["fieldgate-citation-1",["id","bigint"],["name","text"],["line","geometry"]]',
  )
  t.ok(longForm)
})

t.test('cite: faults in one line, wrong usage with exit code 2', async (t) => {
  const { dir, run } = await cited(t)
  writeFileSync(path.join(dir, 'x.csv'), '')
  writeFileSync(path.join(dir, 'bad.csv'), 'id,name\r\n1\r\n')
  writeFileSync(path.join(dir, 'other.csv'), 'id,colour\r\n1,red\r\n')
  writeFileSync(path.join(dir, 'x.geojson'), '{"type":"Point"}')
  writeFileSync(path.join(dir, 'bad.geojson'), '{"citation":{"columns":"id"},"features":[]}')
  writeFileSync(path.join(dir, 'bad.gpkg'), 'no database')
  const cases: [string[], number, RegExp][] = [
    [['cite', 'verify', 'nobody'], 1, /no citation is named nobody/],
    [['cite', 'export', 'nobody', '-o', 'x.csv'], 1, /no citation is named nobody/],
    [['cite', 'export', 'paper'], 2, /output/],
    [['cite', 'export', 'paper', '-o', 'x.shp'], 2, /--output: found x\.shp, expected/],
    [
      ['cite', 'export', 'paper', '-o', 'x', '--format', 'shp'],
      2,
      /--format: found shp, expected one of gpkg/,
    ],
    [['cite', 'import', 'x.shp', '--dataset', 'roads'], 1, /expected an extension of/],
    [['cite', 'import', 'x.csv', '--dataset', 'roads'], 1, /is empty, expected a line of column names/],
    [['cite', 'import', 'bad.csv', '--dataset', 'roads'], 1, /record 2: found 1 values, expected 2/],
    [['cite', 'import', 'other.csv', '--dataset', 'roads'], 1, /"colour", which the dataset lacks/],
    [
      ['cite', 'import', 'x.geojson', '--dataset', 'roads'],
      1,
      /x\.geojson, features: found nothing, expected the array of Features/,
    ],
    [
      ['cite', 'import', 'bad.geojson', '--dataset', 'roads'],
      1,
      /citation\.columns: found "id", expected an array/,
    ],
    [['cite', 'import', 'bad.gpkg', '--dataset', 'roads'], 1, /bad\.gpkg cannot be read as a GeoPackage/],
    [
      ['cite', 'import', 'x.csv', '--dataset', 'roads', '--on-conflict', 'perhaps'],
      2,
      /--on-conflict: found perhaps/,
    ],
  ]
  for (const [argv, code, line] of cases) {
    const run1 = await run(...argv)
    t.equal(run1.code, code, argv.join(' '))
    t.match(run1.stderr, line)
    t.equal(run1.stderr.split('\n').length, 2, 'one line')
  }
  const empty = await cli(dir, ['cite', 'verify', '--data-dir', 'nowhere'])
  t.match(empty, { code: 1, stderr: /holds no tables yet/ })
})

t.test('vacuum: removes versions, tables and files that nothing sees', async (t) => {
  const { run, layout, longForm } = await cited(t)
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
  const staged = await files.stage(bytes())
  await staged.keep()
  t.match(JSON.parse((await run('vacuum', '--json')).stdout), { versions: 0, tables: 0, files: 1 })
  t.equal(await files.stat(staged.sha256), undefined)
  const { store, close } = openDatasets(layout.dataDb)
  await store.uncite(longForm)
  await close()
  const done = await run('vacuum', '--compact')
  t.match(done, { code: 0, stderr: '' })
  t.match(
    done.stdout,
    /^Removed 1 row versions, 0 tables and 0 files\.\ndata\.db takes \d+ kB, of which 0 B are free/,
  )
  t.match((await run('cite', 'verify')).stdout, 'There are no citations.')
})

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('nobody names these')
}
