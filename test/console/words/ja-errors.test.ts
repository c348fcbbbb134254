import t from 'tap'
import { foundExpected, JA_ERRORS } from '../../../src/console/words/ja-errors.js'
import { ERRORS } from '../../../src/errors.js'
import { NAME_RULE } from '../../../src/tables/column-def.js'

t.test('ja-errors: every error has a Japanese sentence, and no other name has one', async (t) => {
  t.same(Object.keys(JA_ERRORS).sort(), Object.keys(ERRORS).sort())
  for (const [name, sentence] of Object.entries(JA_ERRORS)) {
    t.match(sentence, /[ぁ-ん]/, name)
    t.notMatch(sentence, /。$/, `${name}: another sentence may follow`)
  }
})

t.test('foundExpected: faults of values are Japanese sentences', async (t) => {
  const faults: [fault: string, expected: string][] = [
    ['found nothing, expected a string', '値がありません。文字列を指定してください'],
    ['found 300 characters, expected at most 200', '300 文字です。200 以下にしてください'],
    ['found 0 items, expected at least 1', '0 件です。1 以上にしてください'],
    [
      'found 70000, expected a whole number from 0 to 65535',
      '70000 が指定されました。0～65535 の整数を指定してください',
    ],
    [
      'found "a, expected b", expected one of "x", "y"',
      '「a, expected b」が指定されました。次のいずれかを指定してください: "x", "y"',
    ],
    ['found "$1", expected a number', '「$1」が指定されました。数値を指定してください'],
    [
      `found "a b", expected ${NAME_RULE}`,
      '「a b」が指定されました。英数字と _ - . を使用し、63 文字以内で指定してください (. と .. のみは不可)',
    ],
    [
      'found "soon", expected a datetime like 2025-01-02 03:04:05+09',
      '「soon」が指定されました。2025-01-02 03:04:05+09 の形式で日時を指定してください',
    ],
  ]
  for (const [fault, expected] of faults) t.equal(foundExpected(fault), expected)
})

t.test('foundExpected: what has no sentence stays English', async (t) => {
  for (const fault of ['no fault', 'found nothing, expected the moon', 'found a moon, expected a string'])
    t.equal(foundExpected(fault), undefined)
})
