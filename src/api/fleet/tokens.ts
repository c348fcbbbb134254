import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { formatSecret, hashSecret } from '../../auth/secret.js'
import { datetimeObject } from '../../datetime.js'
import { AppError } from '../../errors.js'
import { formatToken } from '../../fleet/join-text.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { JoinToken } from '../../storage/exchange/fleet.js'
import type { TrustedClock } from '../../storage/work/clock.js'
import type { FleetContext } from './context.js'
import { unknownProfile } from './profiles.js'
import { CreateTokenParams, NewToken, TokenInfo, TokenParams } from './schema.js'

type TokenContext = Pick<FleetContext, 'fleetTokens' | 'timeZoneMin' | 'clock' | 'newId'>

export const createToken = defineMethod({
  name: 'fleet.create_token',
  summary: 'Makes a token with which gateways join this hub',
  scope: 'fleet:admin',
  errors: ['UNKNOWN_PROFILE'],
  params: CreateTokenParams,
  result: NewToken,
  async handle({ profile, uses, expires_in_s }, context: TokenContext) {
    const keyId = context.newId()
    const secret = formatSecret(randomBytes(32))
    const token = await context.fleetTokens.create(
      {
        ...{ keyId, name: `token of ${profile}`, scopes: ['fleet:join'], secretHash: hashSecret(secret) },
        expiresAtUs: context.clock.latestUs() + expires_in_s * 1_000_000,
      },
      ...([profile, uses] as const),
    )
    if (token === undefined) throw unknownProfile(profile)
    return { ...toTokenInfo(token, context), text: formatToken(keyId, secret) }
  },
})

export const listTokens = defineMethod({
  name: 'fleet.list_tokens',
  summary: 'Tokens of this hub, without their secrets',
  scope: 'fleet:admin',
  params: z.strictObject({}),
  result: z.array(TokenInfo),
  async handle(_params, context: TokenContext) {
    return (await context.fleetTokens.list()).map((token) => toTokenInfo(token, context))
  },
})

export const revokeToken = defineMethod({
  name: 'fleet.revoke_token',
  summary: 'Revokes a token; gateways that joined with it stay',
  scope: 'fleet:admin',
  errors: ['UNKNOWN_TOKEN'],
  params: TokenParams,
  result: TokenInfo,
  async handle({ token: keyId }, context: TokenContext) {
    const token = await context.fleetTokens.revoke(keyId)
    if (token === undefined)
      throw new AppError('UNKNOWN_TOKEN', { token: keyId }, { message: `No token has the id ${keyId}` })
    return toTokenInfo(token, context)
  },
})

/** Returns the state of a token. */
export function tokenState(
  { revokedAtUs, expiresAtUs, uses, maxUses }: JoinToken,
  clock: Pick<TrustedClock, 'hasPassed'>,
): z.output<typeof TokenInfo>['state'] {
  if (revokedAtUs !== null) return 'revoked'
  if (clock.hasPassed(expiresAtUs)) return 'expired'
  return uses >= maxUses ? 'used_up' : 'active'
}

function toTokenInfo(token: JoinToken, { timeZoneMin, clock }: TokenContext): z.output<typeof TokenInfo> {
  const { keyId, profile, uses, maxUses, createdAtUs, expiresAtUs } = token
  return {
    ...{ token: keyId, profile, uses, max_uses: maxUses, state: tokenState(token, clock) },
    created_at: datetimeObject(createdAtUs, timeZoneMin),
    expires_at: expiresAtUs === null ? null : datetimeObject(expiresAtUs, timeZoneMin),
  }
}
