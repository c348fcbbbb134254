import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

const PAGE = readFileSync('docs/security.md', 'utf8')

/** Cells of the rows of the table under a heading. */
function rowsUnder(heading: string): string[][] {
  const from = PAGE.indexOf(`## ${heading}\n`)
  const section = PAGE.slice(from, PAGE.indexOf('\n## ', from + 1))
  return section
    .split('\n')
    .filter(
      (line) => line.startsWith('| ') && !line.startsWith('| Risk') && !line.startsWith('| Requirement'),
    )
    .map((line) => line.slice(2, -2).split(' | '))
}

for (const [heading, least] of [
  ['OWASP API Security Top 10 (2023)', 10],
  ['OWASP ASVS 5, level 2', 20],
] as const)
  t.test(`security: each line of ${heading} names tests that exist, or why it does not apply`, async (t) => {
    const rows = rowsUnder(heading)
    t.ok(rows.length >= least, `${rows.length} lines`)
    for (const [what = '', how = '', tests = ''] of rows) {
      const files = [...tests.matchAll(/`([^`]+)`/g)].map(([, file]) => file ?? '')
      if (files.length === 0) t.match(how, /^does not apply: /, what)
      for (const file of files)
        t.ok(/^test\/.+\.test\.ts$/.test(file) && existsSync(file), `${what}: ${file}`)
    }
  })
