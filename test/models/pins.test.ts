import t from 'tap'
import { createPins } from '../../src/models/pins.js'

t.test('pins: bytes are not removed between file and row', async (t) => {
  const pins = createPins()
  const gone: string[] = []
  const remove = (sha256: string, isNamed = false) =>
    pins.removeUnnamed(
      sha256,
      async () => isNamed,
      async () => void gone.push(sha256),
    )
  const unpin = await pins.pin('a')
  t.equal(await remove('a'), false)
  unpin()
  t.equal(await remove('a', true), false)
  t.equal(await remove('a'), true)
  let finish: () => void = () => undefined
  const removing = pins.removeUnnamed(
    'b',
    async () => false,
    () =>
      new Promise<void>((resolve) => {
        finish = resolve
      }),
  )
  await new Promise((resolve) => setImmediate(resolve))
  let isPinned = false
  const pinning = pins.pin('b').then(() => {
    isPinned = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(isPinned, false, 'a pin waits for the removal that has begun')
  finish()
  await Promise.all([removing, pinning])
  t.equal(isPinned, true)
})

t.test(
  'pins: nothing is removed while a backup holds the lease, or after another process wrote a row',
  async (t) => {
    const remove = () => Promise.reject(new Error('was removed'))
    const held = createPins({ remove: async () => undefined })
    t.equal(await held.removeUnnamed('a', async () => false, remove), false)
    let released = 0
    let ended: Error | undefined
    const removal = {
      async confirm() {
        if (ended !== undefined) throw ended
      },
      release: async () => void released++,
    }
    const granted = createPins({ remove: async () => removal })
    const answers = [false, true]
    t.equal(await granted.removeUnnamed('a', async () => answers.shift() ?? true, remove), false)
    t.equal(released, 1)
    await t.rejects(
      granted.removeUnnamed('b', async () => false, remove),
      /was removed/,
    )
    t.equal(released, 2, 'the lease is released after a failure too')
    ended = new Error('the lease has ended')
    await t.rejects(
      granted.removeUnnamed('b', async () => false, remove),
      ended,
      'a lease that ended on the way removes nothing',
    )
  },
)

t.test('pins: bytes are pinned until the last pin is removed', async (t) => {
  const pins = createPins()
  const [first, second] = [await pins.pin('a'), await pins.pin('a')]
  first()
  t.equal(pins.isPinned('a'), true)
  second()
  t.equal(pins.isPinned('a'), false)
  second()
  t.equal(pins.isPinned('a'), false, 'a pin that is removed twice does not count below zero')
  const third = await pins.pin('a')
  t.equal(pins.isPinned('a'), true)
  third()
})

t.test('pins: a removal that fails does not fail the pin that waits for it', async (t) => {
  const pins = createPins()
  let fail: () => void = () => undefined
  const removing = pins.removeUnnamed(
    'a',
    async () => false,
    () => new Promise((_resolve, reject) => (fail = () => reject(new Error('EIO')))),
  )
  await new Promise((resolve) => setImmediate(resolve))
  const pinning = pins.pin('a')
  t.equal(
    await pins.removeUnnamed(
      'a',
      async () => false,
      async () => undefined,
    ),
    false,
    'it is pinned',
  )
  fail()
  await t.rejects(removing, /EIO/)
  ;(await pinning)()
  t.equal(pins.isPinned('a'), false)
})
