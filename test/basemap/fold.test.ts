import t from 'tap'
import { foldName, searchKeys } from '../../src/basemap/fold.js'

t.test('foldName: capitals, accents, widths and kana', async (t) => {
  const table = [
    ['Vila Nova de Famalicão', 'vila nova de famalicao'],
    ['SANT’ANNA', 'santanna'],
    ['Łódź', 'lodz'],
    ['Straße', 'strasse'],
    ['Ærø', 'aero'],
    ['Ｔｏｋｙｏ', 'tokyo'],
    ['トウキョウ', 'とうきょう'],
    ['ガ', 'が'],
    ['A-5 (N)', 'a 5 n'],
    ['Αθήνα', 'αθηνα'],
    ['  ', ''],
    ['!?', ''],
  ] as const
  for (const [name, folded] of table) t.equal(foldName(name), folded, name)
})

t.test('searchKeys: from each word on, in a script without spaces from each character on', async (t) => {
  t.same(searchKeys('Rua de Santa Catarina'), [
    'rua de santa catarina',
    'de santa catarina',
    'santa catarina',
    'catarina',
  ])
  t.same(searchKeys('東京駅'), ['東京駅', '京駅', '駅'])
  t.same(searchKeys('...'), [])
  t.ok(searchKeys('あ'.repeat(500)).length <= 12, 'a long name has a limit')
})
