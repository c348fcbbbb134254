import t from 'tap'
import { createBookmarks } from '../../../../src/storage/sqlite/citations/bookmarks.js'

t.test('bookmarks: kept by citation, condition and offset; the oldest go', async (t) => {
  const marks = createBookmarks(3)
  marks.keep(1, undefined, { offset: 10, rowId: 100 })
  marks.keep(1, { '=': ['k', 1] }, { offset: 10, rowId: 200 })
  marks.keep(2, {}, { offset: 10, rowId: 300 })
  t.equal(marks.find(1, {}, 10), 100, 'no condition is the empty one')
  t.equal(marks.find(1, { '=': ['k', 1] }, 10), 200)
  t.equal(marks.find(1, { '=': ['k', 2] }, 10), undefined)
  marks.keep(1, undefined, { offset: 10, rowId: 100 })
  marks.keep(2, {}, { offset: 20, rowId: 400 })
  t.equal(marks.find(1, { '=': ['k', 1] }, 10), undefined, 'the least recently kept')
  t.equal(marks.find(1, {}, 10), 100)
  marks.keep(3, 'x'.repeat(3000), { offset: 10, rowId: 500 })
  t.equal(marks.find(3, 'x'.repeat(3000), 10), undefined, 'a huge condition is not worth it')
})
