import t from 'tap'
import {
  createPageDigestWriter,
  createPageHash,
  PAGE_IDS,
  readPageDigests,
} from '../../../src/storage/formats/page-digests.js'

t.test('page digests: pages far apart come back, whose distance takes one to five groups', async (t) => {
  const pages = [0, 127, 127 + 128, 127 + 128 + 16_384, 3_000_000, 3_000_000 + 2 ** 31]
  const writer = createPageDigestWriter()
  for (const page of pages) writer.add(page * PAGE_IDS + 1, `row of ${page}`)
  const expected = pages.map((page) => {
    const hash = createPageHash()
    hash.add(`row of ${page}`)
    return [page, hash.digest()]
  })
  t.same([...readPageDigests(writer.finish())], expected)
})
