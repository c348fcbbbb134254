import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { stateColumn } from '../../../src/storage/columns/state-column.js'
import { type ExportFormat, exportState } from '../../../src/storage/formats/export.js'
import { openImport } from '../../../src/storage/formats/open-import.js'
import { createKeyring } from '../../../src/storage/keyring.js'
import { createRowStates } from '../../../src/storage/sqlite/citations/row-states.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { feature, NOW_US, openTables } from '../../support/tables.js'

const FILE = {
  nameColumn: 'name',
  typeColumn: 'type',
  prefixIdColumn: 'prefix',
  pathIdColumn: 'path',
  relativePathProperty: 'where',
}
const BYTES = Buffer.from('bytes of the photo')

/** A loader table with an encrypted column and a file, of which one row has neither; and its export. */
async function exporter(t: Test, key = 7) {
  const dir = t.testdir()
  const tables = openTables(path.join(dir, 'data.db'))
  t.teardown(() => tables.data.close())
  const text = ['name', 'type', 'path'].map((name) => ({ name }))
  const table = tables.register(
    'events',
    [
      { name: 'k', udtName: 'int4' },
      { name: 'secret', isEncrypted: true },
      { name: 'photo', udtName: 'file', file: FILE },
      { name: 'prefix', udtName: 'int4' },
      ...text,
    ],
    ['k'],
  )
  await tables.put(table, [
    feature([1, 2], { k: 1, secret: 'hidden, "quoted"', photo: BYTES.toString('base64'), where: 'a/b' }),
    feature([3, 4], { k: 2 }),
  ])
  const state = await createRowStates(tables.data.reader).find('events', NOW_US)
  if (state === undefined) throw new Error('no table')
  const readFile = async (digest: string) => {
    const bytes = tables.files.get(digest)
    if (bytes === undefined) throw new Error(`no file ${digest}`)
    return bytes
  }
  const keyring = createKeyring(new Uint8Array(32).fill(key))
  return {
    dir,
    columns: state.columns,
    async exported(format: ExportFormat): Promise<string> {
      const file = path.join(dir, `out.${format}`)
      const query = { columns: ['k', 'secret', 'photo'] }
      await exportState(state, format, file, { env: { timeZoneMin: 0, nowUs: 0n }, keyring, readFile, query })
      return file
    },
  }
}

t.test('exported state: CSV has the text of encrypted values and the bytes of files', async (t) => {
  const { exported } = await exporter(t)
  const photo = BYTES.toString('base64')
  t.equal(
    readFileSync(await exported('csv'), 'utf8'),
    `k,secret,photo\r\n1,"hidden, ""quoted""",${photo}\r\n2,,\r\n`,
  )
})

t.test('exported state: GeoJSON has them among the properties', async (t) => {
  const { exported } = await exporter(t)
  const { features } = JSON.parse(readFileSync(await exported('geojson'), 'utf8'))
  t.same(features, [
    {
      type: 'Feature',
      geometry: null,
      properties: { k: 1, secret: 'hidden, "quoted"', photo: BYTES.toString('base64') },
    },
    { type: 'Feature', geometry: null, properties: { k: 2, secret: null, photo: null } },
  ])
})

t.test('exported state: a GeoPackage has them, and is read as columns of bytes and text', async (t) => {
  const { exported } = await exporter(t)
  const again = await openImport(await exported('gpkg'))
  t.teardown(() => again.close())
  t.same(
    again.columns?.map(({ name, type }) => [name, type.udtName]),
    [
      ['k', 'int4'],
      ['secret', 'text'],
      ['photo', 'bytea'],
    ],
  )
  const records: unknown[][] = []
  for await (const record of again.records((again.columns ?? []).map(stateColumn))) records.push(record)
  t.same(records, [
    ['1', 'hidden, "quoted"', BYTES.toString('base64')],
    ['2', null, null],
  ])
})

t.test('exported state: the canonical text has the values as they are stored', async (t) => {
  const { exported } = await exporter(t, 8)
  const [, first, second] = readFileSync(await exported('canonical'), 'utf8').split('\n')
  const [k, secret, photo] = JSON.parse(first ?? '')
  t.same([k, photo], [1, `digest of ${BYTES.toString('hex')}`])
  t.match(secret, /^01[0-9a-f]+$/, 'encrypted, so no key is needed')
  t.equal(second, '[2,null,null]')
})

t.test('exported state: with another key nothing is exported', async (t) => {
  const { exported, dir } = await exporter(t, 8)
  await rejectsWith(t, exported('csv'), 'STORAGE_DAMAGED', { message: /found a value of another key/ })
  t.notOk(existsSync(path.join(dir, 'out.csv')))
})
