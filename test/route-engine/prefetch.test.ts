import t from 'tap'
import { createPrefetcher } from '../../src/route-engine/prefetch.js'
import { openSearch } from '../support/search.js'
import { town } from '../support/town.js'

t.test('prefetcher: of works that wait for an idle worker, the newest are kept', async (t) => {
  const { maps, themes } = openSearch(t, { town: town() }).parts
  const onFault = (error: unknown) => t.fail(String(error))
  const prefetcher = createPrefetcher({ maps, themes, slotS: 60, onFault })
  const keepsRunning = setInterval(() => undefined, 1000) // the prefetcher's own timer does not
  t.teardown(() => {
    prefetcher.stop()
    clearInterval(keepsRunning)
  })
  const first = await new Promise<number>((resolve) => {
    for (let i = 0; i < 5000; i++) prefetcher.whenIdle(`${i}`, () => resolve(i))
  })
  t.equal(first, 4936, 'a worker that is never idle does not collect them')
})
