// npm run docs: writes the generated pages of docs/, edge.config.schema.json and the types of the TypeScript client from
// the program; --check fails when they are stale.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { clientSources } from './client.mjs'
import { pagesOf } from './docs/pages.mjs'
import { loadFacts } from './load-facts.mjs'

const facts = await loadFacts()
const wanted = {
  ...pagesOf(facts),
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
} else for (const file of stale) write(file, wanted[file])

function write(file, text) {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Formatted by biome, which checks the whole repository. */
function configSchema() {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/biome.mjs', 'format', '--stdin-file-path=edge.config.schema.json'],
    { input: JSON.stringify(facts.configSchema), encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`biome could not format the schema: ${stderr}`)
  return stdout
}
