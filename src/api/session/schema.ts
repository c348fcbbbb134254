import { z } from 'zod'

/** Life of a session by default, s: 30 days. */
export const DEFAULT_LIFE_S = 2_592_000

/** The handler checks `session.maxAgeS` of the configuration too. */
const ExpiresIn = z
  .int()
  .min(1)
  .max(315_360_000)
  .nullish()
  .describe(
    'life of the session, seconds: 1 to session.maxAgeS; null or absent for 30 days (or session.maxAgeS when that is less)',
  )

/** Any text: unknown tokens are not an error. */
const Token = z.string().max(4096).describe('access_token of open_session')

export const OpenSessionParams = z.strictObject({ expires_in: ExpiresIn })

export const OpenSessionResult = z.strictObject({
  access_token: z.uuid().describe('session token, for the session token header'),
  expires_in: z
    .int()
    .min(0)
    .describe(
      'life of the session, seconds; less than requested if the session or secret through which it was opened ends before',
    ),
})

export const TokenParams = z.strictObject({ token: Token })

export const VerifyResult = z.strictObject({ active: z.boolean() })

/** Most sessions in one answer. */
const MAX_LISTED = 1000

export const ListSessionsParams = z.strictObject({
  limit: z.int().min(1).max(MAX_LISTED).default(100).describe('most sessions in the answer'),
  offset: z.int().min(0).max(1_000_000).default(0).describe('sessions to leave out, from the newest on'),
})

const SessionId = z.uuid().describe('id of the session; it is not the token and opens nothing')

export const ListSessionsResult = z.array(
  z.strictObject({
    session_id: SessionId,
    created_at: z.string(),
    last_used_at: z.string().describe('time of the last call; that of opening before the first one'),
    expires_at: z.string().describe('end of its life'),
    idle_at: z.string().nullable().describe('end if it is not used before; null when session.idleS is 0'),
    is_current: z.boolean().describe('true for the session of this call'),
  }),
)

export const EndSessionParams = z.strictObject({ session_id: SessionId })
