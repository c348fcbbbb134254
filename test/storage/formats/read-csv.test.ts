import { writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { stateColumn } from '../../../src/storage/columns/state-column.js'
import { csvRows, type Field, openCsv } from '../../../src/storage/formats/read-csv.js'
import { columns } from '../../support/datasets.js'

async function* pieces(...texts: string[]): AsyncGenerator<string> {
  yield* texts
}

async function rowsOf(chunks: AsyncIterable<string>, maxRowChars?: number): Promise<Field[][]> {
  const rows: Field[][] = []
  for await (const row of csvRows(chunks, maxRowChars)) rows.push(row)
  return rows
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

t.test('property: CSV reads as it was written, in whatever pieces it arrives', async () => {
  const field = fc.oneof(
    fc.constant(null),
    fc.stringMatching(/^[ a"',;\r\n\u{FEFF}é🚧]*$/u, { maxLength: 6 }), // what has a meaning in CSV, and more
  )
  const table = fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      fc.integer({ min: 1, max: 9 }),
      async (rows, lineEnd, hasLastEnd, size) => {
        const lines = rows.map((row) => row.map((value) => (value === null ? '' : quoted(value))).join(','))
        const text = `\uFEFF${lines.join(lineEnd)}${hasLastEnd ? lineEnd : ''}`
        const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
          text.slice(at * size, (at + 1) * size),
        )
        const found = JSON.stringify(await rowsOf(pieces(...chunks)))
        if (found !== JSON.stringify(rows)) throw new Error(`found ${found}`)
      },
    ),
    { numRuns: 300 },
  )
})

t.test('csvRows: values without quotes, empty values, and a blank line', async (t) => {
  t.same(await rowsOf(pieces('a,b\n1,\n,""\n\nlast')), [
    ['a', 'b'],
    ['1', null],
    [null, ''],
    [null],
    ['last'],
  ])
  t.same(await rowsOf(pieces('')), [])
  t.same(await rowsOf(pieces('a\r\nb\r')), [['a'], ['b']], 'a file may end within a line end')
})

t.test('csvRows: a quote inside a value or behind one is refused with the row', async (t) => {
  for (const row of ['a"b', 'x,"a"b', '"a" ,b', 'a,"open'])
    await t.rejects(
      rowsOf(pieces(row)),
      { message: `found ${JSON.stringify(row)}, expected values between commas` },
      row,
    )
  await t.rejects(rowsOf(pieces(`"${'x'.repeat(100)}`)), {
    message: `found ${JSON.stringify(`"${'x'.repeat(59)}`)}, expected values between commas`,
  })
})

t.test('csvRows: a row that never ends is refused at the longest length, not read to the end', async (t) => {
  let read = 0
  async function* endless(): AsyncGenerator<string> {
    yield 'a,b\n"'
    for (;;) {
      read++
      yield 'x'.repeat(10)
    }
  }
  await t.rejects(rowsOf(endless(), 35), {
    message: 'found a row of more than 35 characters, expected less; a quote may be unclosed',
  })
  t.equal(read, 4)
})

/** Records of a file under the columns of a dataset. */
async function recordsOf(t: Test, text: string, ...typed: string[]): Promise<unknown[][]> {
  const file = path.join(t.testdir(), 'x.csv')
  writeFileSync(file, text)
  const opened = await openCsv(file)
  t.teardown(opened.close)
  t.equal(opened.columns, undefined, 'CSV describes no types')
  t.same(opened.keyColumns, [])
  const records: unknown[][] = []
  for await (const record of opened.records(columns(...typed).map(stateColumn))) records.push(record)
  return records
}

t.test(
  'openCsv: values come in the order of the columns, null for a column that the file lacks',
  async (t) => {
    t.same(await recordsOf(t, 'b,a\n1,x\n2,\n', 'a text?', 'missing int?', 'b int'), [
      ['x', null, '1'],
      [null, null, '2'],
    ])
  },
)

t.test('openCsv: JSON columns are parsed, an empty field is null', async (t) => {
  t.same(
    await recordsOf(t, 'j,k,v\n"{""a"":[1]}",null,null\n,"""x""",7\n', 'j json?', 'k jsonb?', 'v text'),
    [
      [{ a: [1] }, null, 'null'],
      [null, 'x', '7'],
    ],
  )
})

t.test(
  'openCsv: a file without a line of names, an unknown column and a short record are named',
  async (t) => {
    const folder = path.resolve(t.testdirName)
    await t.rejects(recordsOf(t, '', 'a int'), {
      message: `${folder}/x.csv is empty, expected a line of column names`,
    })
    await t.rejects(recordsOf(t, 'a,B\n1,2\n', 'a int', 'b int?'), {
      message: `${folder}/x.csv has the column "B", which the dataset lacks`,
    })
    await t.rejects(recordsOf(t, 'a,,b\n1,2,3\n', 'a int', 'b int?'), {
      message: `${folder}/x.csv has the column "", which the dataset lacks`,
    })
    await t.rejects(recordsOf(t, 'a,b\n1,2\n3\n', 'a int', 'b int?'), {
      message: `${folder}/x.csv, record 3: found 1 values, expected 2`,
    })
    await t.rejects(recordsOf(t, 'a,j\n1,{}\n2,{\n', 'a int', 'j json'), {
      message: /x\.csv, record 3, column j: found no JSON \(.+\), expected a JSON value$/,
    })
  },
)
