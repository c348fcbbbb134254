import fc from 'fast-check'
import t from 'tap'
import { type LineBatch, readLines } from '../../../src/tables/ingest/read-lines.js'
import { throwsWith } from '../../support/throws.js'

/** More than a block: its lines are decoded in several pieces. */
const MANY_BYTES = 200_000

function batchOf(text: string | Uint8Array, separator: LineBatch['separator'] = '\n'): LineBatch {
  return { bytes: new Uint8Array(Buffer.from(text)), separator }
}

/** Lines of JSON, of about `MANY_BYTES` together. */
function manyLines(): unknown[] {
  return Array.from({ length: MANY_BYTES / 50 }, (_, n) => ({ n, text: `${'é'.repeat(n % 40)}漢字😀` }))
}

t.test('readLines: a batch of several blocks, with either separator and without the last one', async (t) => {
  const values = manyLines()
  for (const separator of ['\n', '\u001e'] as const) {
    const text = values.map((value) => JSON.stringify(value)).join(separator)
    t.ok(Buffer.byteLength(text) > MANY_BYTES)
    t.same([...readLines(batchOf(text, separator))], values)
    t.same([...readLines(batchOf(text + separator, separator))], values)
  }
})

t.test('readLines: a line longer than a block, and blank lines', async (t) => {
  const values = [1, 'x'.repeat(MANY_BYTES), 2, 'y'.repeat(MANY_BYTES), 3]
  const text = values.map((value) => `\n  \n${JSON.stringify(value)}\r\n`).join('')
  t.same([...readLines(batchOf(text))], values)
})

t.test('readLines: the line of a fault counts over all blocks', async (t) => {
  const lines = manyLines().map((value) => JSON.stringify(value))
  const at = lines.length - 7
  const text = lines.with(at, '{"n":').with(3, '').join('\n')
  const { data } = throwsWith(t, () => [...readLines(batchOf(text))], 'BAD_RECORD')
  t.match(data, { line: at, reason: /^found text that is not JSON/ })
  const half = lines.with(at, '"\\ud800"').join('\n')
  const found = throwsWith(t, () => [...readLines(batchOf(half))], 'BAD_RECORD')
  t.match(found.data, { line: at, reason: 'found a lone surrogate at $, expected well-formed Unicode' })
})

t.test('readLines: bytes that are not UTF-8 are found before the first record', async (t) => {
  const lines = manyLines().map((value) => JSON.stringify(value))
  const bytes = Buffer.from(lines.with(1, 'no JSON either').join('\n'))
  bytes[bytes.length - 4] = 0xff
  const rows = readLines(batchOf(bytes))
  const { data } = throwsWith(t, () => rows.next(), 'BAD_RECORD')
  t.match(data, { line: lines.length - 1, reason: 'found bytes that are not UTF-8, expected text' })
})

t.test('readLines: a byte order mark at the start of a block is no JSON', async (t) => {
  const text = `${JSON.stringify('x'.repeat(MANY_BYTES))}\n\ufeff1`
  const rows = readLines(batchOf(text))
  rows.next()
  t.match(throwsWith(t, () => rows.next(), 'BAD_RECORD').data, { line: 1 })
})

t.test('property: readLines reads what each line holds', async () => {
  const line = fc.oneof(
    fc.json(),
    fc.constantFrom('', '  ', '"漢"'),
    fc.nat(MANY_BYTES).map((n) => `"${'x'.repeat(n)}"`),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      const values = lines.filter((text) => text.trim() !== '').map((text) => JSON.parse(text))
      const read = [...readLines(batchOf(lines.join('\n')))]
      return JSON.stringify(read) === JSON.stringify(values)
    }),
  )
})
