import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { StagedBlob } from '../../src/files/blob-store.js'
import { registerModel, registerModels } from '../../src/models/register-model.js'
import { attemptParts, FACTS } from '../support/attempts.js'
import { chunksOf } from '../support/blob-store-conformance.js'
import { rejectsWith } from '../support/rejects-with.js'

type Parts = Awaited<ReturnType<typeof attemptParts>>

/** Stages bytes; `calls` is what became of them. */
async function stage({ deps }: Parts, bytes = randomBytes(100)) {
  const staged = await deps.blobs.stage(chunksOf(bytes, 100))
  const calls: string[] = []
  const watched: StagedBlob = {
    ...staged,
    async keep() {
      calls.push('keep')
      await staged.keep()
    },
    async drop() {
      calls.push('drop')
      await staged.drop()
    },
  }
  return { staged: watched, calls }
}

const blobsOf = ({ deps }: Parts) => Array.fromAsync(deps.blobs.list())
const ORIGIN = { node: 'elsewhere', modelId: 'theirs' }

t.test('register: bytes first, then the row and its transfers', async (t) => {
  const at = await attemptParts(t)
  let queued = 0
  const register = { ...at.deps.register, onQueued: () => void queued++ }
  const { staged, calls } = await stage(at)
  const model = await registerModel(register, staged, { ...FACTS, startUs: 5, chain: ['a', 'b'] })
  t.match(model, { state: 10, startUs: 5, lng: 139.7, lat: 35.6, chain: ['a', 'b'], tenantId: 'tenant' })
  t.ok(model.endUs > 5)
  t.same([calls, queued], [['keep'], 1])
  await registerModel(register, (await stage(at)).staged, { ...FACTS, state: 20 })
  t.equal(queued, 1, 'a model of a state that is not pushed')
  const late = await registerModel(register, (await stage(at)).staged, { ...FACTS, startUs: 8e15 })
  t.equal(late.endUs, 8e15, 'the end is not before the beginning, when the clock was set back')
})

t.test('register: a repeated origin answers the first model and drops the bytes', async (t) => {
  const at = await attemptParts(t)
  const { register } = at.deps
  const first = await registerModel(register, (await stage(at)).staged, { ...FACTS, origin: ORIGIN })
  const { staged, calls } = await stage(at)
  const again = await registerModel(register, staged, { ...FACTS, origin: ORIGIN, kind: 'other' })
  t.equal(again.modelId, first.modelId)
  t.same([calls, (await blobsOf(at)).length], [['drop'], 1])
})

t.test('register: UNKNOWN_STORE and LOOP drop the bytes before they are kept', async (t) => {
  const at = await attemptParts(t)
  const register = { ...at.deps.register, autoCreate: false }
  for (const [facts, name] of [
    [{ store: 'snow' }, 'UNKNOWN_STORE'],
    [{ origin: ORIGIN, chain: ['here'] }, 'LOOP'],
    [{ origin: { node: 'here', modelId: 'm' } }, 'LOOP'],
  ] as const) {
    const { staged, calls } = await stage(at)
    await rejectsWith(t, registerModel(register, staged, { ...FACTS, ...facts }), name)
    t.same(calls, ['drop'])
  }
  t.same(await blobsOf(at), [])
})

t.test('register: a chain without an origin is no loop', async (t) => {
  const at = await attemptParts(t)
  const { staged } = await stage(at)
  t.match(await registerModel(at.deps.register, staged, { ...FACTS, chain: ['here'] }), { chain: ['here'] })
})

t.test('register: bytes that cannot be kept are dropped', async (t) => {
  const at = await attemptParts(t)
  const { staged, calls } = await stage(at)
  const keep = () => Promise.reject(new Error('EIO'))
  await t.rejects(registerModel(at.deps.register, { ...staged, keep }, FACTS), /EIO/)
  t.same([calls, await blobsOf(at), at.deps.register.pins.isPinned(staged.sha256)], [['drop'], [], false])
})

t.test(
  'register: bytes whose row cannot be written are removed, unless another row names them',
  async (t) => {
    const at = await attemptParts(t)
    const { register } = at.deps
    const gone = { ...register, models: { ...register.models, add: async () => undefined } }
    const bytes = randomBytes(100)
    await rejectsWith(t, registerModel(gone, (await stage(at, bytes)).staged, FACTS), 'UNKNOWN_STORE', {
      data: { model_store_ddc: 'rain' },
    })
    t.same(await blobsOf(at), [], 'the store was removed meanwhile')
    await registerModel(register, (await stage(at, bytes)).staged, FACTS)
    const failing = {
      ...register,
      models: { ...register.models, add: () => Promise.reject(new Error('EIO')) },
    }
    await t.rejects(registerModel(failing, (await stage(at, bytes)).staged, FACTS), /EIO/)
    t.equal((await blobsOf(at)).length, 1)
  },
)

t.test('register several: all of them, announced by the caller', async (t) => {
  const at = await attemptParts(t)
  let queued = 0
  const register = { ...at.deps.register, onQueued: () => void queued++ }
  const items = [await stage(at), await stage(at)].map(({ staged }, i) => ({
    staged,
    facts: { ...FACTS, kind: `${i}` },
  }))
  const { models, announce } = await registerModels(register, items)
  t.same(
    models.map(({ kind }) => kind),
    ['0', '1'],
  )
  t.equal(queued, 0)
  announce()
  t.equal(queued, 1)
  const quiet = [{ staged: (await stage(at)).staged, facts: { ...FACTS, state: 20 as const } }]
  ;(await registerModels(register, quiet)).announce()
  t.equal(queued, 1, 'no transfer was queued')
  t.equal((await blobsOf(at)).length, 3)
})

t.test('register several: after an error none of the bytes stay', async (t) => {
  const at = await attemptParts(t)
  const { register } = at.deps
  const unknown = [await stage(at), await stage(at)]
  const facts = [FACTS, { ...FACTS, store: 'snow' }]
  const items = unknown.map(({ staged }, i) => ({ staged, facts: facts[i] ?? FACTS }))
  await rejectsWith(t, registerModels({ ...register, autoCreate: false }, items), 'UNKNOWN_STORE', {
    message: /rain, snow/,
  })
  t.same(await blobsOf(at), [])
  const [first, second] = [await stage(at), await stage(at)]
  const keep = () => Promise.reject(new Error('EIO'))
  const failing = [first.staged, { ...second.staged, keep }].map((staged) => ({ staged, facts: FACTS }))
  await t.rejects(registerModels(register, failing), /EIO/)
  t.same([first.calls, second.calls], [['keep'], ['drop']])
  t.same(await blobsOf(at), [])
  for (const { staged } of failing) t.equal(register.pins.isPinned(staged.sha256), false)
})
