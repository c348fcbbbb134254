import { closeSync, openSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readElements } from '../../../src/tables/ingest/read-elements.js'
import { throwsWith } from '../../support/throws.js'

function read(t: { testdir(): string }, text: string, maxBytes: number): unknown[] {
  const file = path.join(t.testdir(), 'body')
  writeFileSync(file, text)
  const handle = openSync(file, 'r')
  try {
    return [...readElements(handle, 1, text.length - 1, { maxBytes })]
  } finally {
    closeSync(handle)
  }
}

t.test('readElements: a record beyond the limit is refused with its longest property', async (t) => {
  const small = { properties: { id: 1 } }
  const large = { type: 'Feature', properties: { id: 2, 'a "b"': 'x'.repeat(6_000_000), c: [1] } }
  const text = JSON.stringify([small, large])
  t.same(read(t, text, 7_000_000).length, 2)
  const { message, data } = throwsWith(t, () => read(t, text, 5_000_000), 'BAD_RECORD')
  t.equal(
    message,
    'a "b": found 6000002 bytes as JSON, expected a record of at most 5000000 (twice limits.valueBytes)',
  )
  t.match(data, { index: 1, column: 'a "b"' })
})

t.test('readElements: an element that is no Feature is refused by its size alone', async (t) => {
  const { message, data } = throwsWith(
    t,
    () => read(t, JSON.stringify(['x'.repeat(2000)]), 1000),
    'BAD_RECORD',
  )
  t.equal(
    message,
    'found more than 1000 bytes in the record, expected a record of at most 1000 (twice limits.valueBytes)',
  )
  t.match(data, { index: 0, column: null })
  t.same(read(t, JSON.stringify([' '.repeat(998)]), 1000).length, 1)
})
