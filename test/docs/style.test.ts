import t from 'tap'
import { blocksOf, docPages, readPage } from '../support/docs.js'

const MAX_README_LINES = 250
const MAX_PAGE_LINES = 400
const MAX_PROSE_CHARS = 110

t.test('docs: README and the pages stay short, generated pages apart', (t) => {
  t.ok(readPage('README.md').lines.length <= MAX_README_LINES, `README.md: at most ${MAX_README_LINES} lines`)
  for (const { file, lines, isGenerated } of docPages())
    t.ok(isGenerated || lines.length <= MAX_PAGE_LINES, `${file}: at most ${MAX_PAGE_LINES} lines`)
  t.end()
})

t.test('docs: no line of prose is longer than 110 characters', (t) => {
  const long = [...docPages(), readPage('CHANGELOG.md')].flatMap(({ file, lines }) =>
    lines
      .filter(({ kind, text }) => kind === 'prose' && text.length > MAX_PROSE_CHARS)
      .map(({ number, text }) => `${file}:${number}: ${text.length} characters`),
  )
  t.same(long, [])
  t.end()
})

t.test('docs: every page begins with one title, every fence says its language', (t) => {
  for (const page of docPages()) {
    const titles = page.lines.filter(({ text, kind }) => kind === 'heading' && text.startsWith('# '))
    t.same(
      titles.map(({ number }) => number),
      [1],
      `${page.file}: one title`,
    )
    const fences = page.lines.filter(({ text }) => text.startsWith('```')).length
    t.equal(fences, blocksOf(page).length * 2, `${page.file}: languages of fences`)
  }
  t.end()
})
