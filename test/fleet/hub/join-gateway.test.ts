import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import { forgetMember } from '../../../src/api/fleet/members.js'
import { hashSecret } from '../../../src/auth/secret.js'
import { assignProfile, requireMember } from '../../../src/fleet/hub/assigned.js'
import { type Applicant, joinGateway } from '../../../src/fleet/hub/join-gateway.js'
import { formatToken, JOIN_PURPOSE, joinBytes, readToken } from '../../../src/fleet/join-text.js'
import { openNodeKeys } from '../../../src/node-keys/keys.js'
import { type MemoryState, memoryState } from '../../support/memory-state.js'
import { rejectsWith } from '../../support/rejects-with.js'

const HUB = randomUUID()

/** A hub with the profile `field`, and a token for it. */
async function hub(t: Parameters<typeof memoryState>[0], body: object = {}, maxUses = 5) {
  const state = await memoryState(t)
  const { fleetTokens: tokens, fleetMembers: members, fleetProfiles: profiles } = state
  await profiles.add({ name: 'field', digest: 'one', body: full(body), createdBy: null }, 0)
  const keyId = randomUUID()
  const key = {
    keyId,
    name: 'token',
    scopes: ['fleet:join'],
    secretHash: hashSecret(keyId),
    expiresAtUs: null,
  }
  await tokens.create(key, 'field', maxUses)
  const deps = { tokens, members, profiles, nodeId: HUB, newId: randomUUID }
  return { state, deps, token: keyId }
}

const full = (body: object) => ({ ...{ up: [], down: [], model_stores: [], settings: {} }, ...body })

/** A gateway as it asks to join. */
async function applicant(
  state: MemoryState,
  token: string,
  { nodeId = randomUUID() as string, name = 'van', signs = true } = {},
): Promise<Applicant> {
  const { identity, sign } = await openNodeKeys(state.nodeKeys, nodeId)
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  const request = {
    ...{ nodeId, name, signingKey: text(identity.signingKey), exchangeKey: text(identity.exchangeKey) },
    secretSha256: createHash('sha256').update(nodeId).digest('hex'),
  }
  const signed = joinBytes({ ...request, tokenKeyId: signs ? token : 'another token' })
  return { ...request, signature: text(sign(JOIN_PURPOSE, signed)) }
}

t.test('join: a gateway becomes a member whose key has the scopes of the profile', async (t) => {
  const { state, deps, token } = await hub(t, { up: [{ table: 'seen' }] })
  const member = await joinGateway(deps, token, await applicant(await memoryState(t), token))
  t.match(await state.keys.findActive(member.keyId), { scopes: ['fleet:member', 'sync:write'] })
  t.match(await state.feedSenders.find(member.keyId, member.nodeId), { nodeId: member.nodeId })
  t.match(await state.nodePeers.find('van'), { nodeId: member.nodeId })
})

t.test('join: two gateways of one name are two peers', async (t) => {
  const { state, deps, token } = await hub(t)
  for (let i = 0; i < 2; i++) await joinGateway(deps, token, await applicant(await memoryState(t), token))
  t.match(await state.nodePeers.list(), [{ name: 'van' }, { name: /^van-[0-9a-f]{8}$/ }])
})

t.test('join: each refusal has its error, and changes nothing', async (t) => {
  const { state, deps, token } = await hub(t, {}, 1)
  const van = await memoryState(t)
  const request = await applicant(van, token)
  const { nodeId } = request
  const unsigned = await applicant(van, token, { nodeId, signs: false })
  await rejectsWith(t, joinGateway(deps, token, unsigned), 'BAD_SIGNATURE')
  const otherName = { ...request, exchangeKey: 'A'.repeat(43) }
  await rejectsWith(t, joinGateway(deps, token, otherName), 'BAD_SIGNATURE')
  const self = await applicant(van, token, { nodeId: HUB })
  await rejectsWith(t, joinGateway(deps, token, self), 'LOOP')
  const noToken = await applicant(van, 'no token', { nodeId })
  await rejectsWith(t, joinGateway(deps, 'no token', noToken), 'FORBIDDEN')
  t.same(await state.fleetMembers.list(), [])
  t.same(await state.nodePeers.list(), [])
  t.equal((await state.fleetTokens.find(token))?.uses, 0)

  await joinGateway(deps, token, request)
  t.match(await joinGateway(deps, token, request), { nodeId }, 'a repeat')
  const second = await applicant(await memoryState(t), token)
  await rejectsWith(t, joinGateway(deps, token, second), 'TOKEN_USED_UP')
  const copy = await applicant(await memoryState(t), token, { nodeId })
  await rejectsWith(t, joinGateway(deps, token, copy), 'GATEWAY_KNOWN')
  await rejectsWith(
    ...([t, forgetMember.call({ node: nodeId }, { ...contextOf(state) }), 'GATEWAY_IN_USE'] as const),
  )
  await state.fleetMembers.end(nodeId, 'revoked')
  await rejectsWith(t, joinGateway(deps, token, request), 'GATEWAY_REVOKED')
})

const contextOf = ({ fleetMembers, fleetProfiles }: MemoryState) => ({
  ...{ fleetMembers, fleetProfiles, timeZoneMin: 0 },
})

t.test('assigned: the key follows the profile, and keeps what the one in force needs', async (t) => {
  const { state, deps, token } = await hub(t, { up: [{ table: 'seen' }] })
  const { keys, clock, askedFeeds: asked, fleetMembers: members, fleetProfiles: profiles } = state
  const member = await joinGateway(deps, token, await applicant(await memoryState(t), token))
  const scopes = async () => (await keys.find(member.keyId))?.scopes
  await profiles.add(
    { name: 'field', digest: 'two', body: full({ down: [{ table: 'flood' }] }), createdBy: null },
    1,
  )
  const next = await assignProfile(
    { profiles, members, keys, asked, clock },
    { ...member, appliedDigest: 'one' },
  )
  t.equal(next.version, 2)
  t.same(await scopes(), ['fleet:member', 'sync:read', 'sync:write'])
  t.same(await asked.granted(member.keyId), ['flood', 'seen'])
  await assignProfile({ profiles, members, keys, asked, clock }, { ...member, appliedDigest: 'two' })
  t.same(await scopes(), ['fleet:member', 'sync:read'])
  t.same(await asked.granted(member.keyId), ['flood'])
  await members.end(member.nodeId, 'left')
  await rejectsWith(t, requireMember(members, member.keyId), 'FORBIDDEN')
})

t.test('token: its text is read as it was written, and nothing else is', async (t) => {
  const keyId = randomUUID()
  const secret = `fgs_${'a'.repeat(51)}`
  t.same(readToken(` ${formatToken(keyId, secret)}\n`), { keyId, secret })
  for (const text of ['', keyId, `${keyId}.`, `x.${secret}`, `${keyId}.${secret}x`])
    t.equal(readToken(text), undefined, text)
})
