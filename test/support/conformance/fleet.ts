import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { hashSecret } from '../../../src/auth/secret.js'
import type { State } from '../../../src/storage/state.js'

type FleetStores = Pick<State, 'fleetTokens' | 'fleetProfiles' | 'keys' | 'clock'>
type Open = (t: Test) => Promise<FleetStores & { advance(ms: number): void }>

/** Tokens and profiles of a hub. @param open fresh and empty */
export async function conformTokensAndProfiles(t: Test, open: Open): Promise<void> {
  await t.test('profiles: versions are added, and an equal body or an old base adds none', async (t) => {
    const { fleetProfiles } = await open(t)
    const body = (digest: string) => ({ name: 'field', digest, body: { digest }, createdBy: 'anna' })
    t.match(await fleetProfiles.add(body('a'), 0), { version: 1 })
    t.equal(await fleetProfiles.add(body('b'), 0), undefined)
    t.match(await fleetProfiles.add(body('b'), 1), { version: 2, createdBy: 'anna' })
    t.match(await fleetProfiles.add(body('b'), null), { version: 2 })
    t.match(await fleetProfiles.find('field', 1), { body: { digest: 'a' } })
    t.match(await fleetProfiles.find('field'), { version: 2, body: { digest: 'b' } })
    t.equal(await fleetProfiles.find('field', 3), undefined)
    t.equal(await fleetProfiles.find('nobody'), undefined)
    t.same(
      (await fleetProfiles.versions('field')).map(({ version }) => version),
      [2, 1],
    )
    t.match(await fleetProfiles.list(), [{ name: 'field', version: 2 }])
  })

  await t.test(
    'profiles: of two that were changed at once one is refused; names by their bytes',
    async (t) => {
      const { fleetProfiles } = await open(t)
      const body = (name: string, digest: string) => ({
        ...{ name, digest, createdBy: null },
        body: { z: 1, a: [1.5, 'ä', null], digest },
      })
      const added = await Promise.all(
        ['a', 'b', 'c', 'd'].map((digest) => fleetProfiles.add(body('field', digest), 0)),
      )
      t.equal(added.filter((version) => version !== undefined).length, 1)
      const all = await Promise.all(
        ['e', 'f', 'g'].map((digest) => fleetProfiles.add(body('field', digest), null)),
      )
      t.equal(all.filter((version) => version !== undefined).length, 3)
      t.same(
        (await fleetProfiles.versions('field')).map(({ version }) => version),
        [4, 3, 2, 1],
      )
      for (const name of ['Zoo', 'ä', 'air']) await fleetProfiles.add(body(name, 'x'), 0)
      t.same(
        (await fleetProfiles.list()).map(({ name }) => name),
        ['Zoo', 'air', 'field', 'ä'],
      )
      t.equal(
        JSON.stringify((await fleetProfiles.find('Zoo'))?.body),
        JSON.stringify(body('Zoo', 'x').body),
        'the body keeps its order',
      )
    },
  )

  await t.test('tokens: one for an unknown profile is none, and no key is made', async (t) => {
    const state = await open(t)
    t.equal(await makeToken(state, 'nobody', 1), undefined)
    t.same(await state.keys.list(), [])
    t.same(await state.fleetTokens.list(), [])
  })

  await t.test('tokens: a key with uses; the newest first; revoked with its key', async (t) => {
    const state = await open(t)
    await state.fleetProfiles.add({ name: 'field', digest: 'd', body: {}, createdBy: null }, 0)
    const first = await makeToken(state, 'field', 5)
    state.advance(1)
    const second = await makeToken(state, 'field', 1)
    t.match(first, { profile: 'field', maxUses: 5, uses: 0, revokedAtUs: null })
    t.same(await state.fleetTokens.list(), [second, first])
    const keyId = first?.keyId ?? ''
    t.same(await state.fleetTokens.find(keyId), first)
    t.match(await state.keys.find(keyId), { scopes: ['fleet:join'], expiresAtUs: first?.expiresAtUs })
    const revoked = await state.fleetTokens.revoke(keyId)
    t.type(revoked?.revokedAtUs, 'number')
    t.same(await state.fleetTokens.revoke(keyId), revoked)
    t.equal(await state.keys.findActive(keyId), undefined)
    t.equal(await state.fleetTokens.revoke(randomUUID()), undefined)
  })
}

async function makeToken({ fleetTokens, clock }: FleetStores, profile: string, maxUses: number) {
  const keyId = randomUUID()
  const key = { keyId, name: 'token', scopes: ['fleet:join'], secretHash: hashSecret(keyId) }
  const expiresAtUs = clock.latestUs() + 3_600_000_000
  return await fleetTokens.create({ ...key, expiresAtUs }, profile, maxUses)
}
