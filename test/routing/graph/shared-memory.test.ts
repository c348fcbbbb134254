import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { countReceived, sharedBuffer, sharedCopy } from '../../../src/routing/graph/shared-memory.js'

const MB = 2 ** 20

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

t.test('sharedBuffer: shared memory counts as other memory does, until nobody has it', async (t) => {
  collect()
  const before = process.memoryUsage().arrayBuffers
  let held: SharedArrayBuffer | undefined = sharedBuffer(64 * MB)
  t.ok(process.memoryUsage().arrayBuffers - before >= 64 * MB)
  collect()
  t.ok(process.memoryUsage().arrayBuffers - before >= 64 * MB, `held: ${held.byteLength} bytes`)
  held = undefined
  // weak references are kept until the present job ends
  await new Promise(setImmediate)
  collect()
  await new Promise(setImmediate)
  t.ok(process.memoryUsage().arrayBuffers - before < 8 * MB)
})

t.test('sharedBuffer: a thousand large pieces one after another are collected meanwhile', async (t) => {
  collect()
  const before = process.memoryUsage().rss
  let most = 0
  for (let i = 0; i < 1000; i++) {
    new Uint8Array(sharedBuffer(4 * MB)).fill(i)
    most = Math.max(most, process.memoryUsage.rss())
    if (i % 20 === 0) await new Promise(setImmediate)
  }
  t.ok(most - before < 1500 * MB, `${Math.round((most - before) / MB)} of 4000 MB`)
})

t.test(
  'countReceived: shared memory anywhere in a message counts, other memory and small pieces do not',
  async (t) => {
    const [large, small] = [new SharedArrayBuffer(32 * MB), new SharedArrayBuffer(1000)]
    const message = {
      lay: { cells: { box: new Float64Array(large), count: 3, shapes: new Map() }, file: undefined },
      others: [new Uint8Array(small), new Uint8Array(1000), null, 'text'],
    }
    collect()
    const before = process.memoryUsage().arrayBuffers
    countReceived(message)
    const more = process.memoryUsage().arrayBuffers - before
    t.ok(more >= 32 * MB && more < 33 * MB, `${more} bytes`)
    t.equal(message.lay.cells.box.length, 4 * MB)
  },
)

t.test('sharedCopy: the same values in an array of the same kind', async (t) => {
  for (const array of [Float64Array.of(1.5, -2), Int32Array.of(-3), Uint8Array.of(4, 5), Uint32Array.of()]) {
    const copy = sharedCopy(array)
    t.same(copy, array)
    t.equal(copy.constructor, array.constructor)
    t.ok(copy.buffer instanceof SharedArrayBuffer)
  }
})
