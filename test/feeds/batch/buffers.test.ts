import t from 'tap'
import { createGrowingText, giveBack, takeBuffer } from '../../../src/feeds/batch/buffers.js'

t.test('buffers: what was given back is taken again, the smallest that fits', async (t) => {
  const [small, large] = [takeBuffer(5000), takeBuffer(50_000)]
  giveBack(large)
  giveBack(small)
  t.equal(takeBuffer(6000), small)
  t.equal(takeBuffer(6000), large)
  t.not(takeBuffer(6000), large, 'a third is new')
  const huge = takeBuffer(3 * 1024 * 1024)
  giveBack(huge)
  t.not(takeBuffer(3 * 1024 * 1024), huge, 'what is larger than all that is kept is let go')
})

t.test('buffers: a text grows over buffers, whatever its characters', async (t) => {
  const text = createGrowingText()
  t.equal(text.bytes().byteLength, 0)
  let expected = ''
  for (const piece of ['a', 'é', '線路', '💧'.repeat(3000), 'x'.repeat(20_000), '界'.repeat(20_000)]) {
    text.add(piece)
    expected += piece
    t.ok(Buffer.from(expected).equals(text.bytes()), `${expected.length} characters`)
  }
  text.release()
  t.equal(text.bytes().byteLength, 0)
  text.add('again')
  t.equal(Buffer.from(text.bytes()).toString(), 'again')
  text.release()
})
