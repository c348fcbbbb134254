import t from 'tap'
import { memoryState } from '../../../support/memory-state.js'

const REQUEST = { hubUrl: 'https://hub.example', name: 'van', secret: 'hush' }
const JOINED = { apiKey: 'key', hub: { nodeId: 'n', signingKey: 's', exchangeKey: 'e' } }

t.test('membership: joining is completed only while it has a secret', async (t) => {
  const { membership, feedUpstreams } = await memoryState(t)
  await membership.begin(REQUEST)
  await membership.end()
  await t.rejects(membership.complete(JOINED), /joining was completed before it began/)
  t.match(await membership.find(), { state: 'left', apiKey: null, secret: null })
  t.same(await feedUpstreams.list(), [], 'and no upstream was made')
  await membership.begin(REQUEST)
  t.match(await membership.complete(JOINED), { state: 'member', apiKey: 'key', secret: 'hush' })
})
