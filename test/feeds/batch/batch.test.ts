import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { isAppError } from '../../../src/errors.js'
import { decodeBatch } from '../../../src/feeds/batch/decode.js'
import { compressBatch, encodeBatch } from '../../../src/feeds/batch/encode.js'
import { type BatchHeader, MAX_BATCH_BYTES } from '../../../src/feeds/batch/format.js'
import { textBytesOf } from '../../../src/feeds/batch/frame-size.js'
import { readRows } from '../../../src/feeds/batch/read-rows.js'
import { slotsOf } from '../../../src/feeds/send/collect.js'
import { createTableChanges } from '../../../src/storage/sqlite/tables/changed-rows.js'
import type { ChangedRow, LoaderTable } from '../../../src/storage/tables.js'
import { ALL_COLUMNS, anyRecord } from '../../support/any-record.js'
import { openTables } from '../../support/tables.js'

const NODE = '11111111-1111-4111-8111-111111111111'
const VAN = '22222222-2222-4222-8222-222222222222'
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 } }

/** Puts a header line, with the digest of all, before other lines: the format as another program writes it. */
function sealed(header: BatchHeader, rest: string): string {
  const head = JSON.stringify({ fieldgate_batch: 1, ...header })
  const sha256 = createHash('sha256').update(`${head}\n${rest}`).digest('hex')
  return `${head.slice(0, -1)},"sha256":"${sha256}"}\n${rest}`
}

/** Columns that feeds carry. */
const COLUMNS = ALL_COLUMNS.filter(({ isEncrypted, udtName }) => isEncrypted !== true && udtName !== 'file')

function headerOf(rows: readonly ChangedRow[], columns: readonly string[]): BatchHeader {
  return {
    ...{ node: NODE, feed: VAN, table: NODE, epoch: 1, digest: 'a'.repeat(64), after: 0 },
    ...{ last: rows.at(-1)?.change ?? 0, rows: rows.length, columns },
  }
}

async function bodyOf(table: LoaderTable, rows: readonly ChangedRow[]): Promise<Uint8Array> {
  const slots = slotsOf(table, null)
  const names = slots.map(({ column }) => column.name)
  const body = await encodeBatch(headerOf(rows, names), slots, rows)
  if (body === undefined) throw new Error('the batch is too large')
  return body
}

/** A table of points with two small columns, as the size of a batch is measured on. */
async function pointRows(count: number): Promise<{ table: LoaderTable; rows: ChangedRow[] }> {
  const tables = openTables()
  const table = tables.register(
    'p',
    [
      { name: 'k', udtName: 'int4', isNullable: false },
      { name: 'speed', udtName: 'int2' },
    ],
    ['k'],
  )
  let seed = 1
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const records = Array.from({ length: count }, (_, k) => ({
    type: 'Feature',
    geometry: {
      type: 'Point',
      coordinates: [Number((139 + random()).toFixed(6)), Number((35 + random()).toFixed(6))],
    },
    properties: {
      ...{ k, speed: Math.floor(random() * 120) },
      start_datetime: new Date(1_735_787_045_000 + k * 1000).toISOString(),
      end_datetime: new Date(1_735_787_046_000 + k * 1000).toISOString(),
    },
  }))
  await tables.put(table, records)
  return { table, rows: await createTableChanges(tables.data.reader).after(table, 0, count) }
}

t.test('batch: any row arrives as it is stored, with its origin', async (t) => {
  const tables = openTables()
  const table = tables.register('x', COLUMNS, ['id'])
  let id = 0
  await fc.assert(
    fc.asyncProperty(fc.array(anyRecord(0), { maxLength: 4 }), async (records) => {
      const known = new Set(table.columns.map(({ name }) => name))
      const features = records.map(({ feature }) => {
        const kept = Object.entries(feature.properties).filter(([name]) => known.has(name))
        return { ...feature, properties: { ...Object.fromEntries(kept), id: id++ } }
      })
      const changes = createTableChanges(tables.data.reader)
      const before = await changes.last(table)
      await tables.put(table, features.slice(0, 2))
      await tables.put(table, features.slice(2), 'skip', { origin: VAN })
      const rows = await changes.after(table, before, 10)
      const decoded = await decodeBatch(await bodyOf(table, rows))
      const read = await readRows(table, decoded, 1_000_000)
      if ('refused' in read) throw new Error(JSON.stringify(read.refused))
      t.same(
        read.rows.map(({ origin }) => origin),
        rows.map(({ origin }) => (origin === '' ? NODE : origin)),
      )
      t.same(
        read.rows.map(({ day }) => day),
        rows.map(({ day }) => day),
      )
      const plain = (all: readonly { values: readonly unknown[] }[]) =>
        all.map(({ values }) =>
          values.map((value) => {
            if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
            return typeof value === 'bigint' ? Number(value) : value
          }),
        )
      t.strictSame(plain(read.rows), plain(rows))
    }),
    { numRuns: 100 },
  )
})

t.test('batch: at most 20 bytes a row for points with two small columns', async (t) => {
  const { table, rows } = await pointRows(10_000)
  const body = await bodyOf(table, rows)
  t.comment(`${(body.length / rows.length).toFixed(1)} bytes a row`)
  t.ok(body.length / rows.length <= 20, `${body.length / rows.length} bytes a row`)
})

/** True when a body is refused as a batch. */
async function isRefused(body: Uint8Array): Promise<boolean> {
  try {
    await decodeBatch(body)
    return false
  } catch (error) {
    if (isAppError(error) && error.errorName === 'BAD_BATCH') return true
    throw error
  }
}

t.test('batch: 2,000 changed bodies are refused, or have the same text', async (t) => {
  const { table, rows } = await pointRows(40)
  const body = Buffer.from(await bodyOf(table, rows))
  const text = zstdDecompressSync(body).toString()
  const change = fc.oneof(
    fc.tuple(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => {
      const changed = Buffer.from(body)
      changed[at] = (changed[at] ?? 0) ^ bits
      return changed
    }),
    fc.nat(body.length - 1).map((length) => body.subarray(0, length)),
    fc.uint8Array({ minLength: 1, maxLength: 40 }).map((more) => Buffer.concat([body, more])),
    // a frame that is whole, of a text that is not
    fc.tuple(fc.nat(text.length - 1), fc.nat(9)).map(([at, digit]) => {
      const changed = `${text.slice(0, at)}${digit}${text.slice(at + 1)}`
      return zstdCompressSync(changed === text ? `${text}\n` : changed, ZSTD)
    }),
  )
  let refused = 0
  await fc.assert(
    fc.asyncProperty(change, async (changed) => {
      if (await isRefused(changed)) refused++
      else if (zstdDecompressSync(changed).toString() !== text) throw new Error('another text was taken')
    }),
    { numRuns: 2000 },
  )
  t.ok(refused > 1900, `${refused} refused`)
})

/** Lines of two rows of one column. */
const TWO_ROWS = `[["${NODE}",2]]\n[1,2]\n`

t.test('batch: the days of rows travel; those of a batch without them are not known', async (t) => {
  const header = { ...headerOf([], ['k']), rows: 2 }
  const daysOf = async (text: string) => (await decodeBatch(zstdCompressSync(text, ZSTD))).days
  const days: [number, number][] = [
    [20_778, 1],
    [20_779, 1],
  ]
  t.same(await daysOf(sealed({ ...header, days }, TWO_ROWS)), [20_778, 20_779])
  t.same(await daysOf(sealed(header, TWO_ROWS)), [0, 0])
})

t.test(
  'batch: the versions of rows travel in steps; those of a batch without them are not known',
  async (t) => {
    const header = { ...headerOf([], ['k']), rows: 2 }
    const versionsOf = async (text: string) => (await decodeBatch(zstdCompressSync(text, ZSTD))).versions
    t.same(await versionsOf(sealed({ ...header, versions: [[7, 2]] }, TWO_ROWS)), [7, 8])
    const back: [number, number][] = [
      [900, 1],
      [-101, 1],
    ]
    t.same(await versionsOf(sealed({ ...header, versions: back }, TWO_ROWS)), [900, 800])
    t.same(await versionsOf(sealed(header, TWO_ROWS)), [0, 0])
  },
)

t.test('batch: a frame tells the size of its text', async (t) => {
  for (const bytes of [0, 1, 255, 256, 300, 65_791, 65_792, 1_000_000]) {
    const frame = zstdCompressSync('x'.repeat(bytes), ZSTD)
    t.equal(textBytesOf(frame), bytes, `${bytes} bytes`)
  }
  t.equal(textBytesOf(zstdCompressSync('x'.repeat(MAX_BATCH_BYTES + 1), ZSTD)), MAX_BATCH_BYTES, 'a bomb')
  t.equal(textBytesOf(Buffer.from('no frame')), MAX_BATCH_BYTES)
  t.equal(textBytesOf(Buffer.alloc(0)), MAX_BATCH_BYTES)
  const large = Buffer.alloc(14, 0xff)
  large[4] = 0xc0
  t.equal(textBytesOf(large), MAX_BATCH_BYTES, 'a size beyond any')
  t.equal(textBytesOf(await compressBatch('ä'.repeat(300))), 600, 'as bodies are made')
})

t.test('batch: a frame that does not tell the size of its text is read', async (t) => {
  const { table, rows } = await pointRows(3000)
  const told = await bodyOf(table, rows)
  const text = zstdDecompressSync(told)
  t.equal(textBytesOf(told), text.byteLength)
  const untold = await promisify(zstdCompress)(text, ZSTD)
  t.equal(textBytesOf(untold), MAX_BATCH_BYTES)
  const batch = await decodeBatch(untold)
  t.equal(batch.header.rows, 3000)
  batch.release()
})

t.test('batch: whole and sealed, but wrong in itself', async (t) => {
  const header = headerOf([], ['k'])
  const cases: [name: string, text: string, expected: RegExp][] = [
    ['a bomb', 'x'.repeat(MAX_BATCH_BYTES + 1), /more than 4194304 bytes of text/],
    ['no seal', '{}\n[]\n', /no header line/],
    ['an empty text', '', /without its end/],
    ['another version', sealed({ ...header, ...{ fieldgate_batch: 2 } }, '[]\n[]\n'), /fieldgate_batch/],
    ['a missing column', sealed(header, '[]\n'), /0 lines of columns, expected 1/],
    ['too few values', sealed({ ...header, rows: 1 }, `[["${NODE}",1]]\n[]\n`), /0 values in the column k/],
    ['too few origins', sealed({ ...header, rows: 1 }, '[]\n[1]\n'), /origins of 0 rows, expected 1/],
    [
      'too many origins',
      sealed({ ...header, rows: 1 }, `[["${NODE}",9]]\n[1]\n`),
      /expected origins of 1 rows/,
    ],
    ['an origin that is none', sealed({ ...header, rows: 1 }, '[["me",1]]\n[1]\n'), /expected origins/],
    ['too many rows', sealed({ ...header, rows: 10_001 }, '[]\n[]\n'), /at most 10000/],
    ['an end before its begin', sealed({ ...header, after: 2, last: 1 }, '[]\n[]\n'), /expected 2 or more/],
    ['too few days', sealed({ ...header, days: [[1, 1]], rows: 2 }, TWO_ROWS), /days: .* 1 rows, expected 2/],
    ['too many days', sealed({ ...header, days: [[1, 3]], rows: 2 }, TWO_ROWS), /days of 2 rows/],
    [
      'a day that is none',
      sealed({ ...header, days: [[2_932_897, 2]], rows: 2 }, TWO_ROWS),
      /days of 2 rows/,
    ],
    ['days that are none', sealed({ ...header, ...{ days: 5 } } as never, TWO_ROWS), /an array of days/],
    ['too few versions', sealed({ ...header, versions: [[1, 1]], rows: 2 }, TWO_ROWS), /versions: .* 1 rows/],
    ['too many versions', sealed({ ...header, versions: [[1, 3]], rows: 2 }, TWO_ROWS), /versions of 2 rows/],
    [
      'a version below 0',
      sealed({ ...header, versions: [[-1, 2]], rows: 2 }, TWO_ROWS),
      /versions of 2 rows/,
    ],
    ['no versions', sealed({ ...header, ...{ versions: 5 } } as never, TWO_ROWS), /an array of steps/],
    ['a fraction', sealed({ ...header, epoch: 0.5 }, '[]\n[]\n'), /a whole number/],
    ['a column twice', sealed({ ...header, columns: ['k', 'k'] }, '[]\n[]\n[]\n'), /each name once/],
    [
      'more columns than a table can have',
      sealed({ ...header, columns: Array.from({ length: 2001 }, (_, i) => `c${i}`) }, '[]\n'),
      /columns: .*at most 2000 names/,
    ],
    ['too many lines', sealed(header, '[]\n[]\n[]\n[]\n'), /more than 1 lines of columns, expected 1/],
    ['lines without end', sealed(header, '[]\n'.repeat(1_000_000)), /more than 1 lines of columns/],
    ['a long header', sealed({ ...header, ...{ x: 'x'.repeat(1_048_576) } }, '[]\n[]\n'), /at most 1048576/],
    [
      'a deep header',
      sealed({ ...header, ...{ x: [[[]]] } }, '[]\n[]\n'),
      /line 1: found more than 3 arrays/,
    ],
    [
      'a header of many members',
      sealed({ ...header, ...{ x: Array(50_000).fill(0) } }, '[]\n[]\n'),
      /line 1: .*more than 42100 commas/,
    ],
    ['deep origins', sealed(header, '[[[]]]\n[]\n'), /line 2: found more than 2 arrays and objects/],
    ['many origins', sealed(header, `[${'0,'.repeat(30_000)}0]\n[]\n`), /line 2: .*more than 20000 commas/],
    ['a deep column', sealed(header, '[]\n[["a"]]\n'), /line 3: found more than 1 arrays and objects/],
    ['a column of objects', sealed(header, '[]\n[{}]\n'), /line 3: found more than 1 arrays and objects/],
    ['a long column', sealed(header, `[]\n[${'0,'.repeat(10_001)}0]\n`), /line 3: .*more than 10000 commas/],
    ['a string without end', sealed(header, '[]\n["a\\"]\n'), /line 3: found no JSON/],
    ['a line that is no array', sealed(header, '[]\n{}\n'), /line 3: found .*expected an array/],
    ['a line that is no JSON', sealed(header, '[]\n[\n'), /line 3: found no JSON/],
  ]
  for (const [name, text, message] of cases)
    await t.rejects(decodeBatch(zstdCompressSync(text, ZSTD)), { errorName: 'BAD_BATCH', message }, name)
  await t.rejects(decodeBatch(Buffer.from(sealed(header, '[]\n[]\n'))), { message: /no whole zstd frame/ })
})

t.test('batch: brackets, commas and quotes within a string are text', async (t) => {
  const header = { ...headerOf([], ['k']), rows: 3 }
  const values = ['[[{,', '\\"]', 'a\\\\']
  const text = sealed(header, `[["${NODE}",3]]\n${JSON.stringify(values)}\n`)
  const [line] = (await decodeBatch(zstdCompressSync(text, ZSTD))).columns
  t.same(line?.slice(0, 3), values)
})

t.test('batch: values that do not fit are told row by row', async (t) => {
  const { table } = await pointRows(1)
  const columns = table.columns.map(({ name }) => name)
  const line = (values: unknown[]) => JSON.stringify(values)
  const text = sealed(
    { ...headerOf([], columns), rows: 4 },
    [
      line([[NODE, 4]]),
      line(['2025-01-02 03:04:05+00', null, '2025-01-02 03:04:05+00', null]),
      line([null, null, '2024-01-02 03:04:05+00', null]),
      line(['139.5 35.5', '200 35', null, null]),
      line([1, 2, 3, null]),
      line([7, 7, 7, 7]),
      '',
    ].join('\n'),
  )
  const read = await readRows(table, await decodeBatch(zstdCompressSync(text, ZSTD)), 1000)
  t.match(read, {
    refused: [
      { index: 1, column: 'location', reason: /200/ },
      { index: 2, column: 'end_datetime', reason: /before start_datetime/ },
      { index: 3, column: 'k', reason: 'found null, expected a value' },
    ],
  })
})
