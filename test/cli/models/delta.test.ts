import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { cli } from '../../support/run-cli.js'
import { safetensors } from '../../support/safetensors.js'

const model = (step: number) =>
  safetensors([
    {
      name: 'w',
      dtype: 'F32',
      shape: [50_000],
      bytes: new Uint8Array(Float32Array.from({ length: 50_000 }, (_, i) => Math.sin(i) * (1 + step)).buffer),
    },
  ])

t.test('cli model delta and patch: a new file from an older one', async (t) => {
  const dir = t.testdir()
  writeFileSync(path.join(dir, 'old'), model(0))
  writeFileSync(path.join(dir, 'new'), model(1e-4))
  const run = (...argv: string[]) => cli(dir, ['model', ...argv])
  t.match(await run('delta', 'old', 'new', '-o', 'd'), { code: 0, stdout: /kB, \d+(\.\d)? % of 200 kB\n$/ })
  t.ok(readFileSync(path.join(dir, 'd')).byteLength < 150_000)
  t.match(await run('patch', 'old', 'd', '-o', 'again'), {
    code: 0,
    stdout: /^200 kB, SHA-256 [0-9a-f]{64}\n$/,
  })
  t.ok(readFileSync(path.join(dir, 'again')).equals(model(1e-4)))
  const same = JSON.parse((await run('delta', 'old', 'old', '-o', 'same', '--json')).stdout)
  t.match(same, { new_bytes: model(0).byteLength })
  t.ok(same.bytes < 1000)

  const faults: [argv: string[], message: RegExp][] = [
    [['patch', 'new', 'd', '-o', 'x'], /found a base of the SHA-256/],
    [['patch', 'old', 'new', '-o', 'x'], /another kind of file/],
    [['patch', 'old', 'd', '-o', 'again'], /again exists: give the name of a new file/],
    [['patch', 'none', 'd', '-o', 'x'], /none: the file does not exist/],
    [['patch', 'old', 'none', '-o', 'x'], /none: the file does not exist/],
    [['delta', 'none', 'new', '-o', 'x'], /none: the file does not exist/],
    [['delta', 'old', 'new', '-o', 'no/x'], /no does not exist/],
    [['delta', 'old', '.', '-o', 'x'], /found a directory, expected a file/],
  ]
  for (const [argv, stderr] of faults) t.match(await run(...argv), { code: 1, stderr }, argv.join(' '))
  t.same(readdirSync(dir).sort(), ['again', 'd', 'new', 'old', 'same'])
})
