import t from 'tap'
import { memoryState } from '../../../support/memory-state.js'

const HUB = '11111111-1111-4111-8111-111111111111'
const BUNDLE = '33333333-3333-4333-8333-333333333333'

t.test('bundles: one that is being written has no contents and is not the newest', async (t) => {
  const { bundles } = await memoryState(t)
  const seq = await bundles.begin(HUB, BUNDLE)
  t.match(await bundles.find(BUNDLE), { seq, nodeId: HUB, contents: null, acknowledgedAtUs: null })
  t.equal(await bundles.newest(HUB), undefined)
  t.same(await bundles.unacknowledged(), [])
  await bundles.finish(seq, { feeds: [], transfers: [7] })
  t.match(await bundles.find(BUNDLE), { contents: { feeds: [], transfers: [7] } })
  t.match(await bundles.newest(HUB), { bundleId: BUNDLE })
  t.match(await bundles.unacknowledged(), [{ bundleId: BUNDLE }])
})
