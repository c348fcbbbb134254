import fc from 'fast-check'
import t from 'tap'
import { readStoredText, storedText } from '../../../../src/storage/postgres/connection/any-text.js'

t.test('property: texts come back as they were, without U+0000, in the same order', async (t) => {
  const text = fc.string({ unit: fc.constantFrom('\u0000', '\u0001', '\u0002', 'a', 'ä', '😀') })
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [x, y] = [storedText(a), storedText(b)]
      const order = Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)))
      return (
        readStoredText(x) === a &&
        !x.includes('\u0000') &&
        Math.sign(Buffer.compare(Buffer.from(x), Buffer.from(y))) === order
      )
    }),
  )
  t.pass('holds')
})
