// npm run test:package -- [plain] [linux-x64] [linux-arm64]: the same end-to-end run over every way of
// running the gateway; without a name all of them.
import { mkdirSync, mkdtempSync } from 'node:fs'
import path from 'node:path'
import { programOf, removeFolder } from './program.mjs'
import { runRough } from './rough.mjs'
import { runSuite } from './suite.mjs'

const KINDS = ['plain', 'linux-x64', 'linux-arm64']
const argv = process.argv.slice(2)
const asked = argv.filter((name) => !name.startsWith('--'))
const unknown = asked.filter((name) => !KINDS.includes(name))
if (unknown.length > 0) {
  console.error(`package-test: found ${unknown.join(', ')}, expected any of ${KINDS.join(', ')}`)
  process.exit(2)
}
mkdirSync('build/package-test', { recursive: true })
// in the project and not in /tmp, which one of the cases hides
const folder = path.resolve(mkdtempSync('build/package-test/run-'))
try {
  for (const kind of asked.length > 0 ? asked : KINDS) await testProgram(kind)
} finally {
  removeFolder(folder)
}

async function testProgram(kind) {
  const startedAt = performance.now()
  const own = path.join(folder, kind)
  mkdirSync(own)
  const program = programOf(kind, own)
  if (program === undefined) return
  const say = (what) => console.log(`ok ${kind}: ${what}`)
  await runSuite(program, path.join(own, 'data é 測 with spaces'), say)
  // users, mounts and ports do not depend on the machine's kind, and qemu cannot be put before its own
  // program
  if (kind !== 'linux-arm64') await runRough(program, own, say)
  console.log(`${kind}: all passed in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
}
