import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { inlineDeltaWork as inline } from '../../support/deltas.js'
import { rejectsWith } from '../../support/rejects-with.js'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function files(dir: string) {
  const base = Buffer.from(Float64Array.from({ length: 1_500_000 }, (_, i) => Math.sin(i)).buffer)
  const next = Buffer.from(base)
  for (let at = 0; at < next.length; at += 997) next[at] = (next[at] ?? 0) + 1
  writeFileSync(path.join(dir, 'base'), base)
  writeFileSync(path.join(dir, 'next'), next)
  const of = (name: string, bytes: Uint8Array) => ({ path: path.join(dir, name), sha256: sha256(bytes) })
  return { base: of('base', base), next: of('next', next), output: path.join(dir, 'delta') }
}

t.test('delta jobs: made and applied in steps', async (t) => {
  const dir = t.testdir()
  const { base, next, output } = files(dir)
  const calls: string[] = []
  const work = inline((name) => calls.push(name))
  t.equal(await work.make({ base, next, output }), readFileSync(output).byteLength)
  const bytes = await work.apply({ base, delta: output, output: path.join(dir, 'again'), maxBytes: 1e9 })
  t.equal(bytes, 12_000_000)
  t.ok(readFileSync(path.join(dir, 'again')).equals(readFileSync(next.path)))
  t.same(new Set(calls), new Set(['modelDelta.step']), 'nothing was abandoned')
  t.ok(calls.length > 20, 'a step is one block')
  t.same(readdirSync(dir).sort(), ['again', 'base', 'delta', 'next'])
})

t.test('delta jobs: after a fault, and when the caller gives up, no file is left', async (t) => {
  const dir = t.testdir()
  const { base, next, output } = files(dir)
  const again = path.join(dir, 'again')
  await inline().make({ base, next, output })
  const delta = readFileSync(output)
  delta[delta.length - 100] = (delta[delta.length - 100] ?? 0) ^ 1
  writeFileSync(output, delta)
  await rejectsWith(t, inline().apply({ base, delta: output, output: again, maxBytes: 1e9 }), 'BAD_DELTA')
  await rejectsWith(t, inline().apply({ base, delta: output, output: again, maxBytes: 1e6 }), 'BAD_DELTA', {
    message: /expected at most 1000000/,
  })
  await t.rejects(
    inline().make({ base, next: { ...next, sha256: base.sha256.replace(/./, 'z') }, output: again }),
  )
  await t.rejects(inline().make({ base, next: { ...next, path: `${next.path}x` }, output: again }), /ENOENT/)
  let steps = 0
  const cancelled = inline((name, cancel) => {
    if (name === 'modelDelta.step' && ++steps === 2) cancel[0] = 1
  })
  await rejectsWith(t, cancelled.make({ base, next, output: again }), 'CANCELLED')
  t.equal(existsSync(again), false)
  t.same(readdirSync(dir).sort(), ['base', 'delta', 'next'])
})
