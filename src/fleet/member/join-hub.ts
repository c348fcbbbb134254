import { createHash } from 'node:crypto'
import { AppError, isAppError, messageOf } from '../../errors.js'
import type { NodeKeys } from '../../node-keys/keys.js'
import type { Membership, MembershipStore } from '../../storage/exchange/membership.js'
import type { NodePeers } from '../../storage/exchange/node-keys.js'
import { shorten } from '../../sync/faults.js'
import type { Credentials } from '../../sync/http-client.js'
import { JOIN_PURPOSE, joinBytes, readToken } from '../join-text.js'
import { notePeer } from '../peer.js'
import type { HubLink } from './hub-link.js'

/** Question to a hub, with the identity of the asker. */
export interface HubRequest {
  /** base URL, checked */
  readonly hubUrl: string
  readonly token: string
  readonly name: string
}

export interface JoinHubDeps {
  readonly membership: MembershipStore
  readonly keys: NodeKeys
  readonly peers: NodePeers
  /** makes a secret for the key at the hub */
  newSecret(): string
  connect(hubUrl: string, credentials: Credentials): HubLink
}

/**
 * Joins a hub. When the answer is lost, a repeat is the same request and gets the same membership.
 *
 * @throws Error in one line that says what to do: for another text than a token, a member of another hub, an
 *   upstream that is named as the hub will be; AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED
 */
export async function joinHub(
  deps: JoinHubDeps,
  { hubUrl, token, name }: HubRequest,
  signal: AbortSignal,
): Promise<Membership> {
  const credentials = readToken(token)
  if (credentials === undefined)
    throw new Error(
      `found another text than a token, expected what \`fieldgate fleet token\` at the hub prints`,
    )
  const begun = await deps.membership.begin({ hubUrl, name, secret: deps.newSecret() })
  if (begun === undefined) throw await whyNot(deps.membership)
  if (begun.secret === null)
    throw new AppError(
      'ALREADY_JOINED',
      {},
      { message: 'the secret for the hub was encrypted with another key file: run `fieldgate leave` first' },
    )
  const link = deps.connect(hubUrl, { apikey: credentials.keyId, secret: credentials.secret })
  try {
    const { api_key: apiKey, hub } = await link.join(requestOf(deps, begun, credentials.keyId), signal)
    const identity = { nodeId: hub.node, signingKey: hub.signing_key, exchangeKey: hub.exchange_key }
    const joined = await deps.membership.complete({ apiKey, hub: identity })
    await notePeer(deps.peers, { ...identity, name: 'hub' })
    return joined
  } catch (error) {
    const told = explained(error)
    await deps.membership.noteFailure(shorten(messageOf(told)))
    throw told
  } finally {
    await link.close()
  }
}

function requestOf({ keys }: JoinHubDeps, { name, secret }: Membership, tokenKeyId: string): object {
  const { nodeId, signingKey, exchangeKey } = keys.identity
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  const facts = { nodeId, signingKey: text(signingKey), exchangeKey: text(exchangeKey) }
  const secretSha256 = createHash('sha256')
    .update(secret ?? '', 'utf8')
    .digest('hex')
  const signature = keys.sign(JOIN_PURPOSE, joinBytes({ ...facts, tokenKeyId, secretSha256 }))
  return {
    ...{ node: nodeId, name, signing_key: facts.signingKey, exchange_key: facts.exchangeKey },
    ...{ secret_sha256: secretSha256, signature: text(signature) },
  }
}

/** Returns why joining could not begin. */
async function whyNot(membership: MembershipStore): Promise<Error> {
  const old = await membership.find()
  if (old !== undefined && (old.state === 'member' || old.state === 'refused'))
    return new AppError(
      'ALREADY_JOINED',
      { hub: old.hubUrl },
      { message: `this gateway is a member of ${old.hubUrl}: run \`fieldgate leave\` first` },
    )
  const message =
    'an upstream of feeds has the name hub, which the hub would get: remove it with `fieldgate sync upstream remove hub`'
  return new AppError('UPSTREAM_EXISTS', { upstream: 'hub' }, { message })
}

/** Returns the error for a refused sign-in: the hub does not tell why. */
function explained(error: unknown): unknown {
  if (!isAppError(error) || error.data.status !== 401) return error
  const message = 'The hub refused the token: it is wrong, revoked or expired'
  return new AppError('UPSTREAM_REFUSED', error.data, { message })
}
