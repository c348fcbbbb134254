import t, { type Test } from 'tap'
import { type ApplyDeps, applyProfile, profileOf, retryItems } from '../../../src/fleet/member/apply.js'
import { digestOf } from '../../../src/fleet/profile/digest.js'
import { Profile } from '../../../src/fleet/profile/schema.js'
import type { Membership, ProfileItem, ReceivedProfile } from '../../../src/storage/exchange/membership.js'
import { memoryState } from '../../support/memory-state.js'

const { signal } = new AbortController()
const HUB = { nodeId: 'n', signingKey: 's', exchangeKey: 'e' }

function received(version: number, profile: object): ReceivedProfile {
  const body = Profile.parse(profile)
  return { name: 'field', version, body, digest: digestOf(body) }
}

/** A member, and a gateway that notes the profiles that it was given. */
async function gateway(t: Test) {
  const { membership } = await memoryState(t)
  await membership.begin({ hubUrl: 'https://hub', name: 'van', secret: 's' })
  await membership.complete({ apiKey: 'k', hub: HUB })
  const given: string[] = []
  const slept: number[] = []
  let nowMs = 0
  let faults: (profile: string) => readonly string[] = () => []
  let items: (profile: Profile) => ProfileItem[] = ({ up }) =>
    up.map(({ table }) => ({ item: `up ${table}`, state: 'applied', reason: null }))
  const deps: ApplyDeps = {
    membership,
    async reconcile(_membership, profile) {
      given.push(profile.description)
      return items(profile)
    },
    faults: async () => faults(given.at(-1) ?? ''),
    nowMs: () => nowMs,
    async sleep(ms) {
      slept.push(ms)
      nowMs += ms
    },
    log: { info: () => undefined, warn: () => undefined },
  }
  const now = async () => (await membership.find()) as Membership
  return {
    ...{ deps, given, slept, now },
    apply: async (profile: ReceivedProfile) => await applyProfile(deps, await now(), profile, signal),
    setFaults: (of: typeof faults) => {
      faults = of
    },
    setItems: (of: typeof items) => {
      items = of
    },
  }
}

t.test('apply: a profile is in force when the gateway is ready, and is noted', async (t) => {
  const { apply, now, given } = await gateway(t)
  const first = received(1, { description: 'one', up: [{ table: 'seen' }] })
  const progress = await apply(first)
  t.match(progress, { applied: { version: 1 }, applying: null, putBack: null, items: [{ item: 'up seen' }] })
  t.same((await now()).progress, progress)
  t.same(given, ['one'])
  t.equal(profileOf(progress.applied).description, 'one')
})

t.test('apply: what becomes ready in time is waited for', async (t) => {
  const { apply, setFaults, slept, given } = await gateway(t)
  setFaults(() => (slept.length < 3 && given.length > 0 ? ['maps: town.graph is being read'] : []))
  t.match(await apply(received(1, {})), { applied: { version: 1 } })
  t.equal(slept.length, 3)
})

t.test('apply: a gateway that does not become ready puts the former profile back', async (t) => {
  const { apply, setFaults, given, now } = await gateway(t)
  await apply(received(1, { description: 'one' }))
  setFaults((profile) => (profile === 'two' ? ['maps: town.graph cannot be read'] : []))
  const back = await apply(received(2, { description: 'two', ready_within_s: 7 }))
  t.match(back, {
    applied: { version: 1 },
    applying: null,
    putBack: { version: 2, reason: 'not ready within 7 s: maps: town.graph cannot be read' },
  })
  t.same(given, ['one', 'two', 'one'])
  t.same((await now()).progress, back)
  const mended = await apply(received(3, { description: 'three' }))
  t.match(mended, { applied: { version: 3 }, putBack: null })
})

t.test('apply: what was not ready before is no fault of the profile', async (t) => {
  const { apply, setFaults, given } = await gateway(t)
  setFaults(() => [`disk: ${given.length + 100} bytes are free`])
  t.match(await apply(received(1, {})), { applied: { version: 1 }, putBack: null })
})

t.test('apply: a fault of the gateway itself puts back, too', async (t) => {
  const { apply, setItems } = await gateway(t)
  setItems(({ description }) => {
    if (description === 'bad') throw new Error('the disk is full')
    return []
  })
  t.match(await apply(received(1, { description: 'bad' })), {
    applied: null,
    putBack: { version: 1, reason: 'it could not be applied: the disk is full' },
  })
})

t.test('apply: a profile under which the process ends three times is put back', async (t) => {
  const { deps, apply, now, setItems, given } = await gateway(t)
  await apply(received(1, { description: 'one' }))
  const deadly = received(2, { description: 'two' })
  setItems(({ description }) => {
    if (description === 'two') throw new Error('killed')
    return []
  })
  const killed = new AbortController()
  killed.abort()
  for (let n = 1; n <= 3; n++) {
    await t.rejects(applyProfile(deps, await now(), deadly, killed.signal), /killed/)
    t.match((await now()).progress.applying, { attempts: n })
  }
  t.match(await apply(deadly), {
    applied: { version: 1 },
    putBack: { reason: /ended 3 times/ },
    applying: null,
  })
  t.equal(given.at(-1), 'one')
})

t.test('apply: a profile of a newer program, and another text than its digest, are put back', async (t) => {
  const { apply } = await gateway(t)
  const body = { ...Profile.parse({}), teleport: [] }
  t.match(await apply({ ...received(1, {}), body, digest: digestOf(body) }), {
    putBack: { reason: /this version of the program cannot read it: .*teleport/ },
  })
  t.match(await apply({ ...received(1, {}), body: Profile.parse({ up: [{ table: 'x' }] }) }), {
    putBack: { reason: /digest does not fit/ },
  })
})

t.test('retryItems: what waits is tried again, and nothing else', async (t) => {
  const { deps, apply, now, setItems, given } = await gateway(t)
  setItems(() => [{ item: 'up seen', state: 'waiting', reason: 'no table' }])
  await apply(received(1, { up: [{ table: 'seen' }] }))
  t.match(await retryItems(deps, await now(), false), { items: [{ state: 'waiting' }] })
  setItems(() => [{ item: 'up seen', state: 'applied', reason: null }])
  t.match(await retryItems(deps, await now(), false), { items: [{ state: 'applied' }] })
  t.equal(await retryItems(deps, await now(), false), undefined)
  t.equal(given.length, 3)
  const release = { item: 'release linux-x64', state: 'applied' as const, reason: null }
  setItems(() => [release])
  await apply(received(2, { description: 'two' }))
  t.equal(await retryItems(deps, await now(), false), undefined)
  setItems(() => [{ ...release, state: 'staged' }])
  t.match(
    await retryItems(deps, await now(), true),
    { items: [{ state: 'staged' }] },
    'an older version runs',
  )
})
