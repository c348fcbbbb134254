import fc from 'fast-check'
import t from 'tap'
import { type CsvRow, createCsvParser } from '../../src/tabular/csv.js'

/** Rows of a text that comes in pieces of a length. */
function rowsOf(text: string, separator = ',', pieceChars = text.length || 1): CsvRow[] {
  const parser = createCsvParser(separator)
  const rows: CsvRow[] = []
  for (let at = 0; at < text.length; at += pieceChars)
    rows.push(...parser.push(text.slice(at, at + pieceChars)))
  return [...rows, ...parser.end()]
}

t.test('createCsvParser: separators, quotes, line ends, empty cells and blank lines', async (t) => {
  t.same(rowsOf('a,b\r\n1,\n"x ""y""",""\r,z'), [
    { cells: ['a', 'b'], line: 1 },
    { cells: ['1', null], line: 2 },
    { cells: ['x "y"', ''], line: 3 },
    { cells: [null, 'z'], line: 4 },
  ])
  t.same(rowsOf('a;b\n"1;2";3\n\n4;5\n', ';'), [
    { cells: ['a', 'b'], line: 1 },
    { cells: ['1;2', '3'], line: 2 },
    { cells: ['4', '5'], line: 4 },
  ])
  t.same(rowsOf('"a\nb",1\n2,3'), [
    { cells: ['a\nb', '1'], line: 1 },
    { cells: ['2', '3'], line: 3 },
  ])
})

t.test('createCsvParser: quotes in wrong places are refused with their line', async (t) => {
  t.throws(() => rowsOf('a,b\n1,2"'), { message: /^line 2: found a quote inside a value/ })
  t.throws(() => rowsOf('a,b\n"1"x,2'), { message: /^line 2: found a quote inside a value/ })
  t.throws(() => rowsOf('a,b\n1,2\n"3,4\n5,6'), { message: 'line 3: found a quote that is not closed' })
  t.throws(() => createCsvParser(',', 10).push('"aaaaaaaaaaaaaaaa'), {
    message: 'line 1: found a row of more than 10 characters; a quote may be unclosed',
  })
})

t.test('property: createCsvParser gives back what was written, in pieces of any length', async (t) => {
  const cell = fc.option(
    fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', '日'), maxLength: 6 }),
  )
  const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(table, fc.integer({ min: 1, max: 7 }), (rows, pieceChars) => {
      const text = rows
        .map((cells) =>
          cells.map((each) => (each === null ? '' : `"${each.replaceAll('"', '""')}"`)).join(','),
        )
        .join('\r\n')
      t.same(
        rowsOf(text, ',', pieceChars).map(({ cells }) => cells),
        rows,
      )
    }),
  )
})
