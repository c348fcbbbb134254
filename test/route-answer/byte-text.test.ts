import fc from 'fast-check'
import t from 'tap'
import {
  addText,
  asciiOf,
  createByteText,
  reserveBytes,
  takeBytes,
  writeAscii,
  writeDecimal,
  writeE7,
  writeInteger,
  writeTrillionths,
  writeUtf8,
} from '../../src/route-answer/byte-text.js'

type Writer = (text: ReturnType<typeof createByteText>) => number

function written(write: Writer): string {
  const text = createByteText()
  text.size = write(text)
  return new TextDecoder().decode(takeBytes(text))
}

t.test('property: numbers are written as JSON.stringify writes them', async () => {
  const whole = fc.oneof(fc.nat(), fc.maxSafeNat())
  fc.assert(
    fc.property(whole, (value) => written((text) => writeInteger(text, 0, value)) === JSON.stringify(value)),
  )
  fc.assert(
    fc.property(fc.integer(), (mm) => {
      const found = written((text) => writeDecimal(text, 0, mm, 3, 1000))
      return found === JSON.stringify(mm / 1000)
    }),
  )
  const e7 = fc.oneof(
    fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }),
    fc.constantFrom(0, 1e7, -1e8, 5),
  )
  fc.assert(
    fc.property(e7, (value) => {
      const found = written((text) => writeE7(text.bytes, 0, value))
      return Number(found) === value / 1e7 && !/\.\d*0$/.test(found)
    }),
  )
  fc.assert(
    fc.property(fc.oneof(fc.nat(), fc.nat(2e6), fc.integer({ min: 0, max: 1e14 })), (value) => {
      const found = written((text) => writeTrillionths(text, 0, value))
      return Number(found) === value / 1e12 && !/\.\d*0$/.test(found) && found.length <= 20
    }),
  )
})

t.test('property: JSON.parse reads the strings that were written', async () => {
  const strings = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(strings, strings, (before, string) => {
      const bytes = new TextEncoder().encode(before + string)
      const from = new TextEncoder().encode(before).length
      const found = written((text) => {
        reserveBytes(text, bytes.length * 6 + 2)
        return writeUtf8(text, 0, bytes, from, bytes.length)
      })
      return JSON.parse(found) === string.toWellFormed()
    }),
  )
})

t.test('byte text: grows, and is empty and small again after it was taken', async (t) => {
  const text = createByteText()
  const word = asciiOf('0123456789')
  for (let i = 0; i < 1_000_000; i++) {
    reserveBytes(text, word.length)
    text.size = writeAscii(text, text.size, word)
  }
  const taken = takeBytes(text)
  t.equal(taken.length, 10_000_000)
  t.ok(new TextDecoder().decode(taken).endsWith('90123456789'))
  t.equal(takeBytes(text).length, 0)
  t.ok(text.bytes.length < 1_000_000)
})

t.test('byte text: adds texts of any characters, and grows for them', async (t) => {
  const text = createByteText()
  const added = ['', 'a"b', 'žluťoučký', '道路', '🛣', 'x'.repeat(100_000), '東'.repeat(100_000), '!']
  for (const one of added) addText(text, one)
  t.equal(new TextDecoder().decode(takeBytes(text)), added.join(''))
})
