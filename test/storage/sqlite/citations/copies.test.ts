import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { OfferedCitation } from '../../../../src/storage/exchange/citation-copies.js'
import { createCitationCopies } from '../../../../src/storage/sqlite/citations/copies.js'
import { columns, definition, openDatasets } from '../../../support/datasets.js'
import { rejectsWith } from '../../../support/rejects-with.js'
import { NOW_US } from '../../../support/tables.js'

const VAN = '22222222-2222-4222-8222-222222222222'
const KEY = 'key'

async function setUp(t: Test) {
  const opened = openDatasets()
  t.teardown(opened.close)
  const copies = createCitationCopies(opened.data, () => NOW_US)
  const offer: OfferedCitation = {
    origin: VAN,
    longForm: 'ddc:a@2025-01-02',
    shortForm: 'a',
    datasetName: 'd',
    datasetRealname: 'd_tbl',
    createdAtUs: NOW_US,
    transactionTimeUs: NOW_US,
    checksum: 'c'.repeat(64),
    columns: columns('k int4'),
    keyColumns: ['k'],
  }
  const open = (more: Partial<OfferedCitation> = {}) =>
    copies.open({ ...offer, ...more }, randomUUID(), NOW_US)
  /** sends rows 1, 2 and 3 and makes the citation */
  const complete = async () => {
    await open()
    await copies.append(offer, 0, [[1n], [2n], [3n]], KEY)
    const pass = await copies.openSums(offer)
    const sums = await pass?.step(Number.POSITIVE_INFINITY)
    if (sums === undefined) throw new Error('the rows have no sums')
    await copies.finish(offer, { ...sums, checksum: offer.checksum })
  }
  return { ...opened, copies, offer, open, complete }
}

t.test('citation copies: an offer that is repeated tells how far the copy is', async (t) => {
  const { copies, offer, open, complete } = await setUp(t)
  t.same(await open(), { rows: 0, isComplete: false })
  t.equal(await copies.append(offer, 0, [[1n], [2n]], KEY), 2)
  t.same(await open(), { rows: 2, isComplete: false })
  t.match(await copies.find(offer), { rows: 2, checksum: offer.checksum, columns: [{ name: 'k' }] })
  await rejectsWith(t, copies.append(offer, 0, [[3n]], KEY), 'CURSOR_MISMATCH', { data: { cursor: 2 } })
  await copies.abandon(offer)
  t.same(await open(), { rows: 0, isComplete: false }, 'one that was given up begins again')
  await complete()
  t.same(await open(), { rows: 3, isComplete: true })
})

t.test('citation copies: CITATION_DIFFERS for another node or other rows under a name', async (t) => {
  const { copies, offer, open, complete } = await setUp(t)
  const other = { checksum: 'd'.repeat(64) }
  await open()
  await rejectsWith(t, open(other), 'CITATION_DIFFERS', { message: /offered with other rows before/ })
  await copies.abandon(offer)
  await complete()
  await rejectsWith(t, open(other), 'CITATION_DIFFERS', { message: /has other rows here/ })
  await rejectsWith(t, open({ origin: randomUUID() }), 'CITATION_DIFFERS', { message: /another node here/ })
  t.same(await open(), { rows: 3, isComplete: true }, 'the refusals changed nothing')
})

t.test('citation copies: CITATION_DIFFERS for a name that was given here and deleted', async (t) => {
  const { store, stores, open } = await setUp(t)
  await store.create(definition('d', columns('k int4')))
  const { longForm } = await store.cite('a', 'd')
  await stores.citations.remove(longForm)
  await rejectsWith(t, open({ longForm }), 'CITATION_DIFFERS', { message: /made here and deleted/ })
})

t.test('citation copies: rows of one that is complete or was not offered are UNKNOWN_FEED', async (t) => {
  const { copies, offer, complete } = await setUp(t)
  const sums = { checksum: offer.checksum, rowCount: 0, rowIndex: new Uint8Array(), pageDigests: null }
  const refused = async (what: string) => {
    t.comment(what)
    const refusal = { message: /offer it first/, data: { long_form: offer.longForm } }
    await rejectsWith(t, copies.append(offer, 0, [[1n]], KEY), 'UNKNOWN_FEED', refusal)
    await rejectsWith(t, copies.finish(offer, sums as never), 'UNKNOWN_FEED', refusal)
    t.equal(await copies.find(offer), undefined)
    t.equal(await copies.openSums(offer), undefined)
    await copies.abandon(offer)
  }
  await refused('not offered')
  await complete()
  await refused('complete')
})
