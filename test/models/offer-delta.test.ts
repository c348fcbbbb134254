import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import type { DeltaStore } from '../../src/models/delta-store.js'
import { offerDelta } from '../../src/models/offer-delta.js'
import { attemptParts } from '../support/attempts.js'

const BASE = randomBytes(20_000)
const NEXT = Buffer.from(BASE)
NEXT.set(randomBytes(50), 7000)
const UNKNOWN = 'f'.repeat(64)

async function setUp(t: Test) {
  const at = await attemptParts(t)
  const { store: deltas } = await at.openDeltas()
  const [base, next] = [await at.put(BASE), await at.put(NEXT)]
  const infos: object[] = []
  const { models } = at.deps.register
  const deps = { deltas, models, log: { info: (fields: object) => void infos.push(fields) } }
  const offer = (bases: string[], change: Partial<Parameters<typeof offerDelta>[0]> = {}, waitMs?: number) =>
    offerDelta({ ...deps, ...change }, next, bases, waitMs)
  return { ...at, deltas, base: base.sha256, next: next.sha256, infos, offer }
}

t.test('offer delta: to the first base that is stored here, and one on disk first of all', async (t) => {
  const { offer, base, next, put } = await setUp(t)
  t.equal(await offer([]), undefined)
  t.equal(await offer([UNKNOWN, next]), undefined)
  const other = Buffer.from(BASE)
  other.set([1, 2, 3], 100)
  const alike = (await put(other)).sha256
  t.match(await offer([UNKNOWN, base, alike]), { base })
  t.match(await offer([alike, base]), { base }, 'it need not be made')
  t.match(await offer([alike]), { base: alike })
})

t.test(
  'offer delta: none where they are off, for small models, on doubt, and when it takes long',
  async (t) => {
    const { offer, base, deltas, put, infos } = await setUp(t)
    t.equal(await offer([base], { deltas: null }), undefined)
    t.equal(await offer([base], { deltas: { ...deltas, minBytes: 20_001 } }), undefined)
    t.same(infos, [])
    const noise = (await put(randomBytes(20_000))).sha256
    t.equal(await offer([noise]), undefined)
    t.match(infos, [{ base: noise, reason: /found more than/ }])
    const make: DeltaStore['make'] = (_, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const alive = setInterval(() => undefined, 1000) // the time limit alone does not keep a process
    t.equal(await offer([base], { deltas: { ...deltas, make } }, 1), undefined)
    clearInterval(alive)
    t.match(infos[1], { base, reason: /timeout/ })
  },
)
