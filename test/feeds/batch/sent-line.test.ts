import fc from 'fast-check'
import t from 'tap'
import { isAppError } from '../../../src/errors.js'
import { MAX_BATCH_ROWS } from '../../../src/feeds/batch/format.js'
import { faultOf, VALUES } from '../../../src/feeds/batch/lines.js'
import { openLine, PIECE_VALUES } from '../../../src/feeds/batch/sent-line.js'

/** Values of a line as it is read in pieces, between other bytes; 'refused' for one that is no line. */
function readInPieces(text: string): unknown {
  const bytes = Buffer.from(`[],"${text}",]`)
  try {
    const line = openLine(bytes, 4, bytes.byteLength - 3, 3)
    return line.slice(0, line.length)
  } catch (error) {
    if (isAppError(error) && error.errorName === 'BAD_BATCH') return 'refused'
    throw error
  }
}

/** Values of a line as one call of `JSON.parse` reads it. */
function readAtOnce(text: string): unknown {
  if (faultOf(text, VALUES) !== undefined) return 'refused'
  try {
    const json: unknown = JSON.parse(text)
    return Array.isArray(json) ? json : 'refused'
  } catch {
    return 'refused'
  }
}

const value = fc.oneof(
  fc.constantFrom(null, true, 0, -1.5, '', '"', '\\', '\\"', '[', ']', ',', '{}', '線路', '💧', '\u0001'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
)
/** Long lines are made of few values: what matters is where the pieces end. */
const values = fc.oneof(
  fc.array(value, { maxLength: 20 }),
  fc
    .tuple(fc.constantFrom(-1, 0, 1), fc.nat(3), value)
    .map(([more, pieces, one]) =>
      Array.from({ length: Math.max(0, PIECE_VALUES * pieces + more) }, (_, at) => (at % 3 === 0 ? at : one)),
    ),
)

t.test('sent line: read in pieces as by one call of JSON.parse', async (t) => {
  fc.assert(
    fc.property(values, (all) => {
      t.same(readInPieces(JSON.stringify(all)), all)
    }),
    { numRuns: 300 },
  )
})

t.test('sent line: refused where JSON.parse refuses it, and read the same where not', async (t) => {
  const change = fc.tuple(
    fc.nat(),
    fc.constantFrom('', ',', '[', ']', '{', '}', '"', '\\', ' ', '1', ':'),
    fc.boolean(),
  )
  let refused = 0
  fc.assert(
    fc.property(values, fc.array(change, { minLength: 1, maxLength: 2 }), (all, changes) => {
      let text = JSON.stringify(all)
      for (const [place, piece, isInsert] of changes) {
        // mostly near an end: there the pieces begin and end
        const at =
          place % 3 === 0 ? text.length - 1 - (place % Math.min(6, text.length)) : place % text.length
        text = text.slice(0, at) + piece + text.slice(at + (isInsert ? 0 : 1))
      }
      if (!text.isWellFormed()) return
      const expected = readAtOnce(text)
      if (expected === 'refused') refused++
      t.same(readInPieces(text), expected, JSON.stringify(text.slice(0, 200)))
    }),
    { numRuns: 1500 },
  )
  t.ok(refused > 500, `${refused} refused`)
})

t.test('sent line: nothing behind the comma at the end of a piece is no value', async (t) => {
  for (const count of [1, PIECE_VALUES, PIECE_VALUES * 2])
    for (const end of [',', ', ', ',,'])
      t.equal(readInPieces(`[${Array(count).fill(1).join()}${end}]`), 'refused', `${count} values and ${end}`)
  t.same(readInPieces('[]'), [])
  t.same(readInPieces('[ ]'), [])
  t.same(readInPieces(' [1] '), [1], 'spaces around it')
  t.equal(readInPieces(''), 'refused')
  t.equal(readInPieces('[1],[2]'), 'refused')
  t.equal(
    readInPieces(
      `[${Array(MAX_BATCH_ROWS + 2)
        .fill(1)
        .join()}]`,
    ),
    'refused',
    'too many values',
  )
})

t.test('sent line: any part is read', async (t) => {
  const all = Array.from({ length: PIECE_VALUES * 3 + 5 }, (_, at) => at)
  const bytes = Buffer.from(JSON.stringify(all))
  const line = openLine(bytes, 0, bytes.byteLength, 3)
  fc.assert(
    fc.property(fc.nat(all.length + 3), fc.nat(all.length + 3), (a, b) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)]
      t.same(line.slice(from, to), all.slice(from, to))
    }),
    { numRuns: 100 },
  )
})
