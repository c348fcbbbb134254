import t from 'tap'
import { joinNotes, splitNotes } from '../../../src/mapbuild/roads/note-text.js'

t.test('notes: joined and split, separators inside become spaces', async (t) => {
  t.same(splitNotes(joinNotes([])), [])
  t.same(splitNotes(joinNotes(['a', 'b c'])), ['a', 'b c'])
  t.same(splitNotes(joinNotes(['a\u001fb'])), ['a b'])
})
