import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readWithProgress } from '../../../src/cli/models/read-with-progress.js'

function terminal(isTTY: boolean) {
  const texts: string[] = []
  return {
    out: { isTTY, columns: 80, write: (text: string) => texts.push(text) },
    shown: () => texts.join(''),
  }
}

t.test('readWithProgress: the bytes of the file, with a bar on a terminal that is removed', async (t) => {
  const file = path.join(t.testdir(), 'weights.bin')
  const bytes = Buffer.alloc(300_000, 'weights')
  writeFileSync(file, bytes)
  for (const isTTY of [true, false]) {
    const { out, shown } = terminal(isTTY)
    const read: Uint8Array[] = []
    for await (const chunk of readWithProgress(file, out)) read.push(chunk)
    t.ok(Buffer.concat(read).equals(bytes))
    if (isTTY) t.match(shown(), /100 % 300 kB of 300 kB\r +\r$/)
    else t.equal(shown(), '')
  }
})

t.test('readWithProgress: a file that ends early for its reader, and one that is a directory', async (t) => {
  const file = path.join(t.testdir({ 'a.bin': 'x'.repeat(200_000) }), 'a.bin')
  const { out, shown } = terminal(true)
  for await (const _chunk of readWithProgress(file, out)) break
  t.match(shown(), /\r +\r$/, 'the bar is removed')
  await t.rejects(readWithProgress(path.dirname(file), out).next(), { code: 'EISDIR' })
})
