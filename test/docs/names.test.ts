import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { SCOPES } from '../../src/auth/caller.js'
import { describeSettings } from '../../src/config/config.js'
import { ERRORS } from '../../src/errors.js'
import { UDT_NAMES } from '../../src/storage/columns/column-types.js'
import { anchorsOf, type DocPage, docPages, readPage } from '../support/docs.js'

const pages = docPages()
const written = [...pages.filter(({ isGenerated }) => !isGenerated), readPage('CHANGELOG.md')]

/** Uploads are called at a path of their own. */
const UPLOADS = [
  'model_store.model.put',
  'model_store.model.put_aggregated',
  'model_store.model.put_feedback',
]
/** Variables of the environment, which look like errors. */
const ENVIRONMENT = /^(BENCH|CACHE|DATAPROC|FIELDGATE|GDAL|MALLOC|RUNTIME|UPDATE|UV)_/

const METHODS = new Set(
  [...readFileSync('docs/methods.md', 'utf8').matchAll(/^### ([\w.]+)$/gm)].map(([, name = '']) => name),
)

/** Everything of a page that stands in code quotes or in blocks of code. */
function codeOf({ lines }: DocPage): { number: number; text: string }[] {
  return lines.flatMap(({ number, text, kind }) =>
    kind === 'code'
      ? [{ number, text }]
      : [...text.matchAll(/`([^`]+)`/g)].map(([, quoted = '']) => ({ number, text: quoted })),
  )
}

/** `file:line: name` of every name in the code of the pages that `isKnown` refuses. */
function unknownNames(pattern: RegExp, isKnown: (name: string) => boolean): string[] {
  return written.flatMap((page) =>
    codeOf(page).flatMap(({ number, text }) =>
      [...text.matchAll(pattern)]
        .map(([, name = '']) => name)
        .filter((name) => !isKnown(name))
        .map((name) => `${page.file}:${number}: ${name}`),
    ),
  )
}

t.test('docs: every npm script that a page names exists', (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.same(
    unknownNames(/npm run (?:-s )?([\w:-]+)/g, (name) => name in scripts),
    [],
  )
  t.end()
})

t.test('docs: every verb that a page names exists', (t) => {
  const verbs = anchorsOf(readPage('docs/verbs.md'))
  const isVerb = (text: string) => {
    const [first, second] = text.split(' ')
    const name = `fieldgate-${first}-${second}`
    const isGroup = [...verbs].some((verb) => verb.startsWith(`${name}-`))
    return verbs.has(`fieldgate-${first}`) || verbs.has(name) || isGroup || first === 'help'
  }
  t.same(unknownNames(/(?:^|[\s;])(?:fieldgate|\$F) ([a-z]+(?: [a-z]+)?)/g, isVerb), [])
  t.end()
})

t.test('docs: every setting, method and scope that a page names exists', (t) => {
  const settings = describeSettings().map(({ path }) => path)
  const firsts = [...new Set([...settings, ...METHODS].map((name) => name.split('.')[0]))].join('|')
  const isKnown = (name: string) =>
    settings.some((path) => path === name || path.startsWith(`${name}.`)) ||
    METHODS.has(name) ||
    name.endsWith('.ts') ||
    name.endsWith('.json') ||
    UPLOADS.includes(name)
  const dotted = new RegExp(`(?<![\\w/.@-])((?:${firsts})\\.[a-z]\\w*(?:\\.[a-z]\\w*)*)(?![\\w.*(/-])`, 'g')
  t.same(unknownNames(dotted, isKnown), [])
  t.same(
    unknownNames(/^([a-z]+:(?:read|write|relay))$/g, (name) => SCOPES.includes(name)),
    [],
  )
  t.end()
})

t.test('docs: every error that a page names exists', (t) => {
  t.same(
    unknownNames(
      /^([A-Z]+(?:_[A-Z]+)+)$/g,
      (name) => name in ERRORS || ENVIRONMENT.test(name) || name.startsWith('SO_'),
    ),
    [],
  )
  t.end()
})

t.test('docs: every file of the repository that a page names exists', (t) => {
  const exists = (name: string) => {
    if (!name.includes('*')) return existsSync(name)
    const [dir = ''] = name.split('/*')
    return existsSync(dir) && readdirSync(dir).length > 0
  }
  t.same(unknownNames(/(?:^|[\s"'])((?:src|test|scripts|docs)\/[\w./*-]*\w)/g, exists), [])
  t.end()
})

t.test('docs: every test that a page names, below test/ or from the root, exists', (t) => {
  const isTest = (name: string) => existsSync(`test/${name}`) || existsSync(name)
  t.same(unknownNames(/(?:^|[\s"'])((?:[\w-]+\/)+[\w-]+\.test\.ts)/g, isTest), [])
  t.end()
})

t.test('docs/tables.md: the table of types names every type of a column', (t) => {
  const { lines } = readPage('docs/tables.md')
  const table = lines.filter(({ kind }) => kind === 'table').map(({ text }) => text)
  t.same(
    UDT_NAMES.filter((name) => !table.some((row) => row.includes(`\`${name}\``))),
    [],
  )
  t.end()
})

t.test('docs/security.md: the table of packages names every dependency', (t) => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const { lines } = readPage('docs/security.md')
  const words = lines.filter(({ kind }) => kind === 'table').flatMap(({ text }) => text.split(/[\s,|]+/))
  const needed = [...Object.keys(dependencies), ...Object.keys(optionalDependencies)]
  const tools = /^@biomejs\// // only development
  t.same(
    needed.filter((name) => !tools.test(name) && !words.includes(name)),
    [],
  )
  t.end()
})
