import t from 'tap'
import { createSlots } from '../../src/dataproc/slots.js'
import { rejectsWith } from '../support/rejects-with.js'

t.test(
  'slots: a fixed number at once, the others in order, and an error when the queue is full',
  async (t) => {
    const slots = createSlots(1, 2)
    const stay = new AbortController()
    const leave = new AbortController()
    const first = await slots.take(stay.signal)
    const order: string[] = []
    const second = slots.take(stay.signal).then((back) => {
      order.push('second')
      return back
    })
    const gone = slots.take(leave.signal)
    await rejectsWith(t, slots.take(stay.signal), 'BUSY')
    leave.abort()
    await rejectsWith(t, gone, 'CANCELLED')
    const third = slots.take(stay.signal).then((back) => {
      order.push('third')
      return back
    })
    t.equal(slots.waiting(), 2)
    first()
    first() // a second call has no effect
    const back = await second
    t.same(order, ['second'])
    back()
    const last = await third
    last()
    const free = await slots.take(stay.signal)
    free()
    await rejectsWith(t, slots.take(leave.signal), 'CANCELLED')
  },
)
