import t from 'tap'
import { joinSentences, withValues } from '../../../src/console/core/with-values.js'
import { EN } from '../../../src/console/words/en.js'
import { JA } from '../../../src/console/words/ja.js'

t.test('texts: a count of one is singular in English, and values stand where they belong', async (t) => {
  const faults = (n: number | string) => withValues(EN.faultsFound, { n })
  t.equal(faults(0), 'The profile has 0 faults. Nothing was saved.')
  t.equal(faults(1), 'The profile has 1 fault. Nothing was saved.')
  t.equal(faults('1,001'), 'The profile has 1,001 faults. Nothing was saved.')
  const backlog = { rows: 1, models: 2, bytes: '3 B' }
  t.equal(withValues(EN.backlogRows, backlog), '1 row, 2 models, 3 B')
  t.equal(withValues(EN.rolloutAll, { n: 1, m: 1 }), 'on 1 of 1 gateway')
  t.equal(withValues(EN.importShared, { n: '1' }).slice(0, 24), '1 record has the key of ')
  t.equal(withValues(JA.faultsFound, { n: 1 }), 'プロファイルに 1 件の誤りがあります。保存されていません。')
  t.equal(withValues('{n|row|rows} {other}', {}), '{n|row|rows} {other}', 'a value that is missing is seen')
})

t.test('texts: both languages name the same values', async (t) => {
  const names = (text: string) => [...text.matchAll(/\{(\w+)/g)].map(([, name]) => name).sort()
  const words = Object.keys(EN) as (keyof typeof EN)[]
  for (const word of words) t.same(names(JA[word]), names(EN[word]), word)
})

t.test('joinSentences: a full stop after each, a space between English ones alone', async (t) => {
  t.equal(joinSentences(['One is wrong', 'Two is not.'], 'en'), 'One is wrong. Two is not.')
  t.equal(
    joinSentences(['値が正しくありません (BAD: x)', '削除しました。'], 'ja'),
    '値が正しくありません (BAD: x)。削除しました。',
  )
  t.equal(joinSentences(['Alone.'], 'en'), 'Alone.')
})
