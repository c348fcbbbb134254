import t from 'tap'
import { handOver } from '../../src/storage/hand-over.js'

t.test('hand over: a large row that was handed over is let go of when the next page is asked for', (t) => {
  const geometry = { type: 'Point' as const, coordinates: [1, 2] as [number, number] }
  const page = [{ rowId: 7, geometry, properties: { note: 'long' } }]
  const pages = handOver(page)
  const taken = pages.next().value ?? []
  const kept = [...taken] // as a consumer that takes a part of the page
  t.same(kept, [{ rowId: 7, geometry, properties: { note: 'long' } }])
  t.equal(pages.next().done, true)
  t.same(kept, [{ rowId: 7, geometry: null, properties: {} }])
  t.end()
})
