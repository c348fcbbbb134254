import { createHash } from 'node:crypto'
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { type BundleSide, openBundleSide, openPair } from '../support/bundle-side.js'

const keysOf = async (side: BundleSide) =>
  [...(await side.rows()).keys()].map((key) => Number(key.split(' ')[1])).sort((a, b) => a - b)

t.test(
  'bundles: a gap is kept out and closed, by the bundle before it or by way of the sender',
  async (t) => {
    const { van, base, fileOf } = await openPair(t)
    const keptOut = async (file: string) => (await base.apply(fileOf(file))).bundles[0]?.feeds[0]?.keptOut
    const putAndWrite = async (k: number) => {
      await van.put([{ k }])
      await van.write(fileOf(`${k}`), ['base'], { isContinued: true })
    }
    for (const k of [1, 2, 3]) await putAndWrite(k)
    t.match(await keptOut('2'), /begins after change 1, but only the changes up to 0 are here/)
    t.same(await keysOf(base), [])
    t.equal(await keptOut('1'), null)
    t.match(await keptOut('3'), /begins after change 2/)
    t.equal(await keptOut('2'), null)
    t.equal(await keptOut('3'), null)
    t.same(await keysOf(base), [1, 2, 3])
    await putAndWrite(4) // lost
    await putAndWrite(5)
    t.match(await keptOut('5'), /begins after change 4/)
    await base.write(fileOf('back'))
    await van.apply(fileOf('back'))
    await putAndWrite(6)
    t.equal(await keptOut('6'), null)
    t.same(await keysOf(base), [1, 2, 3, 4, 5, 6])
  },
)

t.test('bundles: without --continue each repeats what is not acknowledged', async (t) => {
  const { van, base, fileOf } = await openPair(t)
  for (const k of [1, 2, 3]) {
    await van.put([{ k }])
    const [written] = await van.write(fileOf(`${k}`))
    t.equal(written?.rows, k)
  }
  t.match(await base.apply(fileOf('3')), { bundles: [{ feeds: [{ written: 3, batches: 1, known: 0 }] }] })
  t.match(await base.apply(fileOf('1')), { bundles: [{ feeds: [{ written: 0, batches: 0, known: 1 }] }] })
  await base.write(fileOf('back'))
  await van.apply(fileOf('back'))
  await van.put([{ k: 4 }])
  const [next] = await van.write(fileOf('4'))
  t.equal(next?.rows, 1)
})

t.test('bundles: one that begins before the cursor and ends after it is taken', async (t) => {
  const { van, base, fileOf } = await openPair(t)
  await van.put([{ k: 1, note: 'old' }, { k: 2 }])
  await van.write(fileOf('1'))
  await van.put([{ k: 1, note: 'new' }, { k: 3 }])
  await van.write(fileOf('2'))
  await base.apply(fileOf('1'))
  t.match(await base.apply(fileOf('2')), { bundles: [{ feeds: [{ batches: 1, keptOut: null }] }] })
  await base.apply(fileOf('1'))
  t.equal((await base.rows()).get(`${van.nodeId} 1`), 'new', 'an older one changes nothing')
})

t.test('bundles: a small file holds a part; the next one the rest', async (t) => {
  const { dir, van, base, fileOf } = await openPair(t)
  const note = (k: number) => createHash('sha512').update(`${k}`).digest('base64')
  await van.put(Array.from({ length: 300 }, (_, k) => ({ k, note: note(k) })))
  await t.rejects(
    van.write(fileOf('tiny'), ['base'], { maxBytes: 300 }),
    /--max-bytes: found too few, expected at least \d+ more/,
  )
  t.notOk(existsSync(fileOf('tiny')))
  t.same(
    readdirSync(dir).filter((name) => name.includes('part')),
    [],
    'no part is left',
  )
  let files = 0
  for (let left = true; left && files < 100; files++) {
    const [written] = await van.write(fileOf(`${files}`), ['base'], { maxBytes: 8000, isContinued: true })
    t.ok(statSync(fileOf(`${files}`)).size <= 8000 && (written?.rows ?? 0) > 0, `${written?.rows} rows`)
    await base.apply(fileOf(`${files}`))
    left = (written?.cut.length ?? 0) > 0
  }
  t.ok(files > 2)
  t.equal((await keysOf(base)).length, 300)
})

t.test('bundles: a restored sender sends again under its new epoch; the old epoch is refused', async (t) => {
  const { van, base, fileOf } = await openPair(t)
  await van.put([{ k: 1 }])
  await van.write(fileOf('1'))
  await base.apply(fileOf('1'))
  await van.put([{ k: 2 }])
  await van.write(fileOf('old'))
  await van.data.feedIdentity.beginEpoch(Date.now() * 1000) // as `fieldgate restore` does
  await van.put([{ k: 3 }])
  await van.write(fileOf('new'))
  t.match(await base.apply(fileOf('new')), { bundles: [{ feeds: [{ keptOut: null }] }] })
  const { bundles } = await base.apply(fileOf('old'))
  t.match(bundles[0]?.feeds[0]?.keptOut, /sends with epoch 1, but a restored copy of it has sent with/)
  t.same(await keysOf(base), [1, 2, 3])
  await base.write(fileOf('back'))
  await van.apply(fileOf('back'))
  const [feed] = await van.data.state.feeds.list()
  t.match(feed?.progress, { cursor: 3, scanned: 3, behindSinceUs: null })
})

t.test('bundles: a receiver that is ahead makes the sender begin a new epoch', async (t) => {
  const { dir, van, base, fileOf } = await openPair(t)
  const copy = fileOf('copy.db')
  van.data.db.writer.prepare('VACUUM INTO ?').run(copy)
  await van.put([{ k: 1 }, { k: 2 }])
  await van.write(fileOf('1'))
  await base.apply(fileOf('1'))
  await base.write(fileOf('back'))
  // a copy of the data from before the rows is put back by other means than a restore
  van.data.db.close()
  for (const end of ['', '-wal', '-shm']) rmSync(path.join(van.home, `data.db${end}`), { force: true })
  renameSync(copy, path.join(van.home, 'data.db'))
  const again = await openBundleSide(path.join(dir, 'van'))
  t.teardown(() => again.close())
  const before = await again.data.feedIdentity.epoch()
  await again.put([{ k: 3 }])
  await again.apply(fileOf('back'))
  t.ok((await again.data.feedIdentity.epoch()) > before)
  await again.write(fileOf('2'))
  await base.apply(fileOf('2'))
  t.same(await keysOf(base), [1, 2, 3])
})

t.test(
  'bundles: citations that are not here are left out by name; feeds down are the other side’s to send',
  async (t) => {
    const { van, fileOf } = await openPair(t)
    await van.put([{ k: 1 }])
    const { feeds } = van.data.state
    const [feed] = await feeds.list()
    if (feed === undefined) throw new Error('there is no feed')
    const { progress: _, createdAtUs: __, ...of } = feed
    const other = (digit: string) => ({
      ...of,
      feedId: [8, 4, 4, 4, 12].map((n) => digit.repeat(n)).join('-'),
    })
    t.ok(await feeds.create({ ...other('5'), direction: 'down' }))
    t.ok(await feeds.create({ ...other('6'), dataName: 'cited', start: { ...of.start, citation: 'cited' } }))
    const [written] = await van.write(fileOf('1'))
    t.equal(written?.rows, 1)
    t.same(written?.refused, ['cited: it was deleted here'])
  },
)
