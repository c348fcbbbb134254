// npm run docs: writes the generated tables of README.md, edge.config.schema.json and the types of the TypeScript client;
// --check fails when they are stale.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { clientSources } from './client.mjs'
import { loadFacts } from './load-facts.mjs'

const facts = await loadFacts()
const tables = {
  methods: table(
    ['Method', 'Scope', 'What it does'],
    facts.methods.map((m) => [`\`${m.name}\``, m.scope, m.summary]),
    facts.methods.map((m) => m.path),
  ),
  errors: table(
    ['Code', 'Name', 'HTTP', 'Meaning'],
    facts.errors.map((e) => [e.code, `\`${e.name}\``, e.status, e.message]),
  ),
  settings: table(
    ['Setting', 'Type', 'Default', 'Meaning'],
    facts.settings.map((s) => [
      `\`${s.path}\``,
      s.type,
      s.default === undefined ? '' : `\`${JSON.stringify(s.default)}\``,
      s.description,
    ]),
  ),
  verbs: table(
    ['Verb', 'What it does'],
    facts.verbs.map((v) => [`\`fieldgate ${v.usage}\``, v.description]),
  ),
}

const wanted = {
  'README.md': readme(),
  'edge.config.schema.json': configSchema(),
  ...clientSources(facts),
}
const stale = Object.keys(wanted).filter(
  (file) => !existsSync(file) || wanted[file] !== readFileSync(file, 'utf8'),
)
if (process.argv.includes('--check')) {
  if (stale.length > 0) {
    console.error(`${stale.join(', ')}: stale, run \`npm run docs\``)
    process.exit(1)
  }
} else for (const file of stale) writeFileSync(file, wanted[file])

function readme() {
  let text = readFileSync('README.md', 'utf8')
  for (const [name, content] of Object.entries(tables)) {
    const section = new RegExp(`(<!-- generated: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`)
    if (!section.test(text)) throw new Error(`README.md has no section "generated: ${name}"`)
    text = text.replace(section, (_, open, close) => `${open}${content}${close}`)
  }
  return text
}

/** As biome would have it, which looks over the whole repository. */
function configSchema() {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/biome.mjs', 'format', '--stdin-file-path=edge.config.schema.json'],
    { input: JSON.stringify(facts.configSchema), encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`biome could not format the schema: ${stderr}`)
  return stdout
}

/** A Markdown table; with `groups`, a line of its own before each group of rows. */
function table(head, rows, groups) {
  const cell = (value) => String(value).replaceAll('|', '\\|').replaceAll('\n', ' ')
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |\n`
  const top = line(head) + line(head.map(() => '---'))
  if (groups === undefined) return top + rows.map(line).join('')
  let text = ''
  for (const [index, row] of rows.entries()) {
    if (index === 0 || groups[index] !== groups[index - 1])
      text += `${index === 0 ? '' : '\n'}**\`POST ${groups[index]}\`**\n\n${top}`
    text += line(row)
  }
  return text
}
