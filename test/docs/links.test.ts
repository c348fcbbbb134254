import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { anchorsOf, type DocPage, docPages, readPage } from '../support/docs.js'

const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g

t.test('docs: every relative link leads to a file and every anchor to a heading', (t) => {
  const faults = [...docPages(), readPage('CHANGELOG.md')].flatMap((page) =>
    linksOf(page).flatMap(({ number, target }) => faultOf(page, number, target)),
  )
  t.same(faults, [])
  t.end()
})

t.test('docs: README or docs/README.md links to every page', (t) => {
  const linked = ['README.md', 'docs/README.md']
    .map(readPage)
    .flatMap((page) => linksOf(page).map(({ target }) => path.join(path.dirname(page.file), target)))
  const pages = docPages().map(({ file }) => file)
  t.same(
    pages.filter((file) => file !== 'README.md' && !/docs.README\.md/.test(file) && !linked.includes(file)),
    [],
  )
  t.end()
})

t.test('docs: pictures are small', (t) => {
  for (const name of ['console.png', 'demo-routes.svg'])
    t.ok(readFileSync(`docs/pictures/${name}`).length < 300_000, name)
  t.end()
})

function linksOf({ lines }: DocPage): { number: number; target: string }[] {
  return lines
    .filter(({ kind }) => kind !== 'code')
    .flatMap(({ text, number }) =>
      [...text.replace(/`[^`]*`/g, '``').matchAll(LINK)].map(([, target = '']) => ({ number, target })),
    )
    .filter(({ target }) => !/^https?:/.test(target))
}

function faultOf({ file }: DocPage, number: number, target: string): string[] {
  const [to = '', anchor] = target.split('#')
  const found = to === '' ? file : path.join(path.dirname(file), to)
  if (!existsSync(found)) return [`${file}:${number}: no file ${found}`]
  if (anchor === undefined || anchorsOf(readPage(found)).has(anchor)) return []
  return [`${file}:${number}: no heading #${anchor} in ${found}`]
}
