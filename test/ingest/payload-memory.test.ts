import { randomBytes, randomInt } from 'node:crypto'
import t from 'tap'
import { createPayloadMemory, type KeptPayload } from '../../src/ingest/payload-memory.js'

t.test('payload memory: what is kept stays as it was until it is released, in any order', async (t) => {
  const memory = createPayloadMemory()
  const kept: { payload: KeptPayload; expected: Buffer }[] = []
  let spoiled = 0
  for (let step = 0; step < 20_000; step++) {
    const size = step % 97 === 0 ? randomInt(100_000) : randomInt(400)
    const source = randomBytes(size)
    kept.push({ payload: memory.keep(source), expected: Buffer.from(source) })
    source.fill(0) // a copy is kept
    while (kept.length > randomInt(1, 900)) {
      const [one] = kept.splice(step % 5 === 0 ? randomInt(kept.length) : 0, 1)
      if (one === undefined) throw new Error('nothing is kept')
      if (!one.payload.bytes.equals(one.expected)) spoiled++
      memory.release(one.payload)
    }
  }
  t.equal(spoiled, 0)
})

t.test('payload memory: blocks are used again, large payloads have memory of their own', async (t) => {
  const memory = createPayloadMemory()
  const blocks = new Set<unknown>()
  for (let step = 0; step < 1000; step++) {
    const group = Array.from({ length: 100 }, () => memory.keep(Buffer.alloc(1000)))
    for (const payload of group) {
      blocks.add(payload.block)
      memory.release(payload)
    }
  }
  t.ok(blocks.size <= 5, `${blocks.size} blocks for 100 MB`)
  t.equal(memory.keep(Buffer.alloc(10_000)).block, undefined)
  t.equal(memory.keep(Buffer.alloc(0)).bytes.length, 0)
})
