import { strictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { compileLike } from '../../../src/storage/columns/like-pattern.js'

t.test('like: %, _, backslash, case, and what is special elsewhere', async (t) => {
  const table: [pattern: string, text: string, expected: boolean][] = [
    ['', '', true],
    ['', 'a', false],
    ['%', '', true],
    ['%%', 'abc', true],
    ['abc', 'abc', true],
    ['abc', 'ABC', false],
    ['a%c', 'abbc', true],
    ['a%c', 'abcd', false],
    ['a%a', 'a', false],
    ['a%b%c', 'axbxc', true],
    ['%ab%ab%', 'ab', false],
    ['%ab%ab%', 'abab', true],
    ['_', 'a', true],
    ['_', '', false],
    ['_', 'ab', false],
    ['_', '𠮷', true],
    ['__', '𠮷', false],
    ['%_', '𠮷', true],
    ['_%_', '𠮷', false],
    ['a_c%', 'abcd', true],
    ['%b_d', 'abcd', true],
    ['\\%', '%', true],
    ['\\%', 'a', false],
    ['\\_', '_', true],
    ['\\\\', '\\', true],
    ['\\a', 'a', true],
    ['*?[a]', '*?[a]', true],
    ['*', 'a', false],
    ['日本%', '日本橋', true],
    ['line\n%', 'line\nbreak', true],
    ['a\u0000b', 'a\u0000b', true],
  ]
  for (const [pattern, text, expected] of table)
    t.equal(compileLike(pattern)(text), expected, JSON.stringify([pattern, text]))
})

/** Definition of LIKE, without any thought of cost. */
function oracle(pattern: readonly string[], text: readonly string[]): boolean {
  const [first, ...rest] = pattern
  if (first === undefined) return text.length === 0
  if (first === '%') return text.some((_, at) => oracle(rest, text.slice(at))) || oracle(rest, [])
  const [head, ...tail] = text
  if (head === undefined) return false
  if (first === '\\') return rest[0] === head && oracle(rest.slice(1), tail)
  return (first === '_' || first === head) && oracle(rest, tail)
}

t.test('property: like is its definition, over few characters so that pieces repeat', async () => {
  const char = fc.constantFrom('a', 'b', '𠮷', '%')
  const part = fc.constantFrom('a', 'b', '𠮷', '%', '_', '\\a', '\\%', '\\𠮷')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 10 }), fc.array(char, { maxLength: 12 }), (parts, text) => {
      const pattern = parts.join('')
      strictEqual(compileLike(pattern)(text.join('')), oracle([...pattern], text), pattern)
    }),
    { numRuns: 3000 },
  )
})

t.test('property: long pieces, which are searched otherwise', async () => {
  const part = fc.constantFrom('aaaaaaaa', 'aaaaaaab', 'b')
  const long = fc.array(part, { minLength: 9, maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(long, fc.array(part, { maxLength: 40 }), (piece, parts) => {
      const text = parts.join('')
      strictEqual(compileLike(`%${piece}%`)(text), text.includes(piece))
      strictEqual(
        compileLike(`a%${piece}%b`)(text),
        /^a/.test(text) && text.slice(1, -1).includes(piece) && text.length > 1 && text.endsWith('b'),
      )
    }),
    { numRuns: 500 },
  )
})

t.test('like: a long piece is found, also where a beginning of it goes before', async (t) => {
  const piece = `${'a'.repeat(70)}b`
  t.equal(compileLike(`%${piece}%`)(`c${'a'.repeat(90)}bc`), true)
  t.equal(compileLike(`%${piece}%bc`)(`${piece}bc`), true, 'the rest begins after it')
  t.equal(compileLike(`%${piece}%bc`)(`${piece}c`), false, 'and not in it')
})

t.test('like: a search that takes many comparisons can be ended', async (t) => {
  let looks = 0
  const matches = compileLike(`%${'a'.repeat(500)}_b%`, () => {
    looks++
    if (looks === 3) throw new Error('ended')
  })
  t.throws(() => matches('a'.repeat(100_000)), { message: 'ended' })
  t.equal(compileLike(`%b${'a'.repeat(9_999)}%`)('a'.repeat(1_000_000)), false, 'linear for text alone')
})
