import { z } from 'zod'

/** 30 days */
export const DEFAULT_LIFE_S = 2_592_000

/** `session.maxAgeS` of the configuration is checked besides. */
const ExpiresIn = z
  .int()
  .min(1)
  .max(315_360_000)
  .nullish()
  .describe(
    'life of the session, seconds: 1 to session.maxAgeS; null or absent for 30 days (or session.maxAgeS when that is less)',
  )

/** Anything may be asked about; only a UUID of ours is ever known. */
const Token = z.string().max(4096).describe('access_token of open_session')

export const OpenSessionParams = z.strictObject({ expires_in: ExpiresIn })

export const OpenSessionResult = z.strictObject({
  access_token: z.uuid().describe('session token, for the session token header'),
  expires_in: z
    .int()
    .min(0)
    .describe(
      'life that the session got, seconds; less than asked when opened through a session that ends before',
    ),
})

export const TokenParams = z.strictObject({ token: Token })

export const VerifyResult = z.strictObject({ active: z.boolean() })
