import fc from 'fast-check'
import t from 'tap'
import { cacheLinkText, findLinkText, linkTextCacheOf } from '../../src/route-answer/link-text-cache.js'
import { makeGraph } from '../support/make-graph.js'
import { town } from '../support/town.js'

t.test('property: a cached text is the one cached last for its link', async (t) => {
  const graph = makeGraph(town(3))
  const texts = linkTextCacheOf(graph)
  const one = fc.record({ link: fc.nat(200), size: fc.integer({ min: 1, max: 2000 }), fill: fc.nat(255) })
  const expected = new Map<number, { size: number; fill: number; riskAt: number }>()
  let found = 0
  fc.assert(
    fc.property(fc.array(one, { maxLength: 60 }), (list) => {
      for (const { link, size, fill } of list) {
        const source = new Uint8Array(size + 7).fill(fill, 3, size + 3)
        cacheLinkText(texts, link, source.subarray(3, size + 3), size >> 1)
        expected.set(link, { size, fill, riskAt: size >> 1 })
      }
      for (const [link, { size, fill, riskAt }] of expected) {
        const slot = findLinkText(texts, link)
        if (slot < 0) continue
        found++
        const begin = texts.begin[slot]! % texts.bytes.length
        const bytes = texts.bytes.subarray(begin, begin + texts.size[slot]!)
        const isRight = bytes.length === size && bytes.every((byte) => byte === fill)
        if (!isRight || texts.riskAt[slot] !== riskAt) return false
      }
      return true
    }),
  )
  t.ok(found > 1000, `${found} found`)
})

t.test('cacheLinkText: a text that is too long is not cached', async (t) => {
  const texts = linkTextCacheOf(makeGraph(town(3)))
  cacheLinkText(texts, 1, new Uint8Array(5000), 0)
  t.equal(findLinkText(texts, 1), -1)
})
