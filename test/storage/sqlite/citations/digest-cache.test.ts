import t from 'tap'
import { createPageDigestWriter, PAGE_IDS } from '../../../../src/storage/formats/page-digests.js'
import { createDigestCache } from '../../../../src/storage/sqlite/citations/digest-cache.js'
import { openDatabase } from '../../../../src/storage/sqlite/connection/database.js'

t.test('digest cache: keeps up to 50,000 digests, and drops the oldest citations', async (t) => {
  const db = openDatabase(':memory:', [
    'CREATE TABLE citation (citation_id INTEGER PRIMARY KEY, page_digests BLOB) STRICT',
  ])
  t.teardown(() => db.close())
  const insert = db.prepare('INSERT INTO citation VALUES (?, ?)')
  const digestsOf = (pages: number) => {
    const writer = createPageDigestWriter()
    for (let page = 0; page < pages; page++) writer.add(page * PAGE_IDS, 'line\n')
    return writer.finish()
  }
  const stored = digestsOf(20_000)
  for (const id of [1, 2, 3]) insert.run(id, stored)
  insert.run(4, null)
  insert.run(5, digestsOf(50_001))
  const cache = createDigestCache()
  const first = cache.find(db, 1)
  t.equal(first?.size, 20_000)
  t.equal(cache.find(db, 4), undefined, 'not computed yet')
  const second = cache.find(db, 2)
  t.equal(cache.find(db, 1), first, 'both are kept')
  const third = cache.find(db, 3)
  t.equal(cache.find(db, 2), second, 'as many as fit')
  t.equal(cache.find(db, 3), third)
  const again = cache.find(db, 1)
  t.not(again, first, 'the oldest was dropped and is read again')
  t.same(again, first)
  const large = cache.find(db, 5)
  t.equal(cache.find(db, 5), large, 'one that is larger than the cache stays alone')
  t.not(cache.find(db, 1), again)
})
