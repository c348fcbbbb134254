import t from 'tap'
import { decoded, type Encoding, markedEncoding } from '../../src/tabular/encoding.js'
import { isFileFault } from '../../src/tabular/faults.js'
import { findSeparator } from '../../src/tabular/separator.js'

async function decode(
  bytes: readonly number[],
  encoding: Encoding,
  pieceBytes = bytes.length,
): Promise<string> {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += pieceBytes)
      yield Uint8Array.from(bytes.slice(at, at + pieceBytes))
  }
  let text = ''
  for await (const part of decoded(chunks(), encoding)) text += part
  return text
}

t.test('decoded: encodings, with byte order marks, and characters that are cut in two', async (t) => {
  t.equal(await decode([0xef, 0xbb, 0xbf, 0xe6, 0x97, 0xa5, 0x31], 'utf-8', 2), '日1')
  t.equal(await decode([0x93, 0xfa, 0x31], 'shift_jis', 1), '日1')
  t.equal(await decode([0xff, 0xfe, 0x31, 0x00], 'utf-16le', 1), '1')
  t.equal(await decode([0xe9, 0x80], 'windows-1252'), 'é€')
  t.equal(markedEncoding(Uint8Array.of(0xfe, 0xff)), 'utf-16be')
  t.equal(markedEncoding(Uint8Array.of(0x61)), undefined)
})

t.test('decoded: text of another encoding is refused with its line and the choices', async (t) => {
  await t.rejects(decode([0x61, 0x0a, 0x0a, 0x93, 0xfa], 'utf-8'), {
    fileFault: 'ENCODING',
    message: /^line 3 is not utf-8: choose the encoding of the file \(utf-16le, .*shift_jis/,
  })
  await t.rejects(decode([0x61, 0xe6], 'utf-8'), { message: /./, fileFault: 'ENCODING' }, 'cut off')
  await t.rejects(decode([0x61, 0x00, 0x0a, 0x00], 'utf-8'), {
    fileFault: 'NUL',
    message: /^line 1 has a NUL/,
  })
})

t.test('findSeparator: the one that divides all rows evenly', async (t) => {
  t.equal(findSeparator('a,b\n1,2\n', true, false), 'comma')
  t.equal(findSeparator('a;b\n1,5;2,5\n', true, false), 'semicolon', 'decimal commas')
  t.equal(findSeparator('a\tb\n1,5\t2\n', true, false), 'tab')
  t.equal(findSeparator('a|b\n1|2', true, false), 'pipe')
  t.equal(findSeparator('sep=;\na;b\n', true, false), 'semicolon', 'stated by the file')
  t.equal(findSeparator('name\nAnn\n', true, false), 'comma', 'one column')
  t.equal(
    findSeparator('a;b\n1;2\n3\n', true, false),
    'semicolon',
    'a short row is refused later, with its line',
  )
  t.equal(findSeparator('a,b\n1,2\n3,', false, false), 'comma', 'the last row is cut off')
  t.equal(findSeparator('a,b\tc,d\n1,2\t3,4\n', true, true), 'tab', 'named .tsv')
})

t.test('findSeparator: two that fit are refused', async (t) => {
  t.throws(() => findSeparator('a,b;c\n1,2;3\n', true, false), {
    fileFault: 'SEPARATOR',
    message: 'found comma, semicolon as possible separators: choose one',
  })
  t.notOk(isFileFault(new Error('x')))
})
