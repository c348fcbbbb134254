import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { runScenarios } from '../support/scenario-run.js'
import { readScenarios } from '../support/scenario-text.js'

const FOLDER = path.resolve('test/scenarios')

for (const file of readdirSync(FOLDER)
  .filter((name) => name.endsWith('.txt'))
  .sort()) {
  t.test(`scenarios: ${file}`, async (t) => {
    const scenarios = readScenarios(file, readFileSync(path.join(FOLDER, file), 'utf8'))
    const asked = await runScenarios(t, scenarios)
    t.ok(asked > 0, 'the file has questions')
  })
}
