import { AppError } from '../../errors.js'
import { isSigned } from '../../node-keys/keys.js'
import type { FleetMember, FleetMembers, FleetProfiles, JoinTokens } from '../../storage/exchange/fleet.js'
import { JOIN_PURPOSE, joinBytes } from '../join-text.js'
import { Profile } from '../profile/schema.js'
import { scopesOf, tablesOf } from '../profile/scopes.js'

/** A gateway that asks to join. Keys and signature are base64url. */
export interface Applicant {
  readonly nodeId: string
  readonly name: string
  readonly signingKey: string
  readonly exchangeKey: string
  /** SHA-256 of the secret that it made for its key, hex */
  readonly secretSha256: string
  readonly signature: string
}

export interface JoinDeps {
  readonly tokens: JoinTokens
  readonly members: FleetMembers
  readonly profiles: FleetProfiles
  /** UUID of this hub */
  readonly nodeId: string
  newId(): string
}

/**
 * Takes a gateway into the fleet.
 *
 * @param tokenKeyId key of the call
 * @throws AppError BAD_SIGNATURE, FORBIDDEN for a key that is no token, TOKEN_USED_UP, GATEWAY_KNOWN, GATEWAY_REVOKED, LOOP
 */
export async function joinGateway(
  deps: JoinDeps,
  tokenKeyId: string,
  applicant: Applicant,
): Promise<FleetMember> {
  const { nodeId } = applicant
  if (nodeId === deps.nodeId) {
    const message = `The node ${nodeId} is this gateway: a hub is joined by others`
    throw new AppError('LOOP', { node: nodeId }, { message })
  }
  requireSigned(tokenKeyId, applicant)
  const token = await deps.tokens.find(tokenKeyId)
  if (token === undefined) throw noToken()
  const profile = await deps.profiles.find(token.profile)
  if (profile === undefined) throw new Error(`the profile ${token.profile} of a token does not exist`)
  const body = Profile.parse(profile.body)
  const outcome = await deps.members.join({
    ...{ tokenKeyId, nodeId, name: applicant.name, newKeyId: deps.newId() },
    ...{ signingKey: applicant.signingKey, exchangeKey: applicant.exchangeKey },
    secretHash: Buffer.from(applicant.secretSha256, 'hex'),
    ...{ scopes: scopesOf(body), tables: tablesOf(body) },
  })
  switch (outcome.kind) {
    case 'no_token':
      throw noToken()
    case 'used_up': {
      const { maxUses } = outcome.token
      const message = `The token was used ${maxUses} of ${maxUses} times; make another with \`fieldgate fleet token\` at the hub`
      throw new AppError('TOKEN_USED_UP', { uses: maxUses }, { message })
    }
    case 'revoked': {
      const message = `The gateway ${nodeId} was revoked; \`fieldgate fleet forget ${nodeId}\` at the hub lets it join again`
      throw new AppError('GATEWAY_REVOKED', { node: nodeId }, { message })
    }
    case 'other_keys': {
      const message =
        // a gateway prints the first 200 characters of an answer
        `Node ${nodeId} joined with other keys: a copy, or a backup from before it had them; ` +
        '`fieldgate fleet revoke`, then `fleet forget` at the hub admit it'
      throw new AppError('GATEWAY_KNOWN', { node: nodeId }, { message })
    }
    default:
      return outcome.member
  }
}

/** @throws AppError BAD_SIGNATURE */
function requireSigned(tokenKeyId: string, applicant: Applicant): void {
  const key = Buffer.from(applicant.signingKey, 'base64url')
  const signature = Buffer.from(applicant.signature, 'base64url')
  if (isSigned(key, JOIN_PURPOSE, joinBytes({ tokenKeyId, ...applicant }), signature)) return
  const message = 'signature: found one that does not fit, expected that of signing_key over this request'
  throw new AppError('BAD_SIGNATURE', {}, { message })
}

function noToken(): AppError {
  const message = 'The key is no token of `fieldgate fleet token`'
  return new AppError('FORBIDDEN', { scope: 'fleet:join' }, { message })
}
