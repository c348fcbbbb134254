import t from 'tap'
import { withValues } from '../../../src/console/core/with-values.js'
import { noteText } from '../../../src/console/map/route/note-text.js'
import { EN } from '../../../src/console/words/en.js'
import { JA } from '../../../src/console/words/ja.js'
import { notesOf } from '../../../src/mapbuild/profile/notes.js'

const english = (note: string) => noteText(note, (word, values = {}) => withValues(EN[word], values))
const japanese = (note: string) => noteText(note, (word, values = {}) => withValues(JA[word], values))
const MODES = ['access', 'vehicle', 'motor_vehicle', 'motorcar', 'bicycle', 'foot']

t.test('noteText: a note has its value and condition as they are, in both languages', (t) => {
  const note = 'conditional speed limit: 30 at Mo-Fr 07:00-09:00'
  t.equal(english(note), note)
  t.equal(japanese(note), '速度制限 (条件付き): 30 [Mo-Fr 07:00-09:00]')
  t.equal(japanese('height limit 2.5 m'), '高さ制限 2.5 m')
  t.equal(japanese('toll'), '有料')
  t.equal(japanese(`${note} (not applied)`), '速度制限 (条件付き): 30 [Mo-Fr 07:00-09:00] (未適用)')
  t.equal(
    japanese('weight limit of a kind that is not known'),
    'weight limit of a kind that is not known'.replace('weight limit', '重量制限'),
  )
  t.equal(japanese('tollgate'), 'tollgate', 'other words stay')
  t.end()
})

t.test('noteText: every note that a map build writes is Japanese', (t) => {
  const limits = ['maxheight', 'maxwidth', 'maxweight', 'maxlength', 'maxaxleload']
  const conditional = [...limits, ...MODES, 'maxspeed', 'oneway', 'toll'].map((key) => `${key}:conditional`)
  const tags = new Map([
    ...limits.map((key) => [key, '2'] as const),
    ...conditional.map((key) => [key, '2 @ (Mo-Fr 07:00-09:00); 3 @ (PH); 4'] as const),
    ...([
      ['width', '2'],
      ['hazmat', 'no'],
      ['hov', 'designated'],
      ['ford', 'yes'],
      ['toll', 'yes'],
    ] as const),
  ])
  const { forward } = notesOf(tags, MODES, true)
  t.ok(forward.length > 30)
  for (const note of forward) {
    const words = japanese(note).replace(/ \[.*\]| \d m| \d t|PH/g, '')
    t.notMatch(words, /[a-z]/i, note)
    t.match(english(note), /^[a-z]/)
  }
  t.end()
})
