import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'

/** Runs a script to its end. */
async function run(args: string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: plainEnv() })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      text += chunk
    })
  const [code] = await once(child, 'close')
  return { code, text }
}

/** Without what the test runner puts into it: the script runs as it would in a shell. */
function plainEnv() {
  const { NODE_OPTIONS: _, ...env } = process.env
  return env
}

t.test('fuzz: half a minute of every grammar, nothing found', { timeout: 280_000 }, async (t) => {
  const { code, text } = await run(['scripts/fuzz/main.mjs', '--minutes=0.5', '--seed=7'])
  t.equal(code, 0, text)
  for (const target of ['json', 'datetime', 'geojson', 'wkt', 'wkb', 'config', 'map', 'multipart'])
    t.match(text, new RegExp(`^${target} +[1-9]`, 'm'))
  for (const target of ['envelope', 'params', 'condition', 'record', 'upload', 'path'])
    t.match(text, new RegExp(`^${target} +[1-9]`, 'm'))
})

t.test('soak: a minute of it works', { timeout: 280_000 }, async (t) => {
  const { code, text } = await run(['scripts/soak/main.mjs', '--minutes=1', '--per-second=5', '--samples=4'])
  t.equal(code, 0, text)
  t.match(text, / 0 failed/)
  t.match(text, /RSS MB .* not judged/)
})
