import { z } from 'zod'
import { readToken } from '../../fleet/join-text.js'
import { Profile, ProfileName } from '../../fleet/profile/schema.js'
import { TROUBLES } from '../../storage/exchange/fleet-overview.js'
import { hiddenFault } from '../secret-text.js'

const Datetime = z.strictObject({ _type: z.literal('datetime'), val: z.string() })

/** Id of a node. */
export const NodeId = z
  .string()
  .regex(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/, 'expected the UUID of a gateway')
  .describe('UUID of a gateway')
const TokenId = z
  .string()
  .regex(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/, {
    error: hiddenFault('expected the id of a token'), // a whole token is easily given in its place
  })
  .describe('id of a token: the part before the dot')
const Digest = z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256 in hex')
const PublicKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'expected 32 bytes in base64url')

/** Name of a gateway, for people. */
export const GatewayName = z
  .string()
  .min(1)
  .max(80)
  .regex(/^[^\p{Cc}]+$/u, 'expected no control characters')
  .describe('name of the gateway, for people; names need not differ')

export const CreateTokenParams = z.strictObject({
  profile: ProfileName,
  uses: z.int().min(1).max(100_000).default(1).describe('gateways that may join with it'),
  expires_in_s: z.int().min(1).max(315_360_000).default(604_800).describe('validity, seconds'),
})

export const TokenParams = z.strictObject({ token: TokenId })

export const TokenInfo = z.strictObject({
  token: z.string().describe('id of the token'),
  profile: z.string(),
  uses: z.int(),
  max_uses: z.int(),
  state: z.enum(['active', 'used_up', 'expired', 'revoked']),
  created_at: Datetime,
  expires_at: Datetime.nullable(),
})

export const NewToken = z.strictObject({
  ...TokenInfo.shape,
  text: z.string().describe('what `fieldgate join --token` takes; it is not stored and not shown again'),
})

const Version = z.int().min(1).max(1_000_000_000).describe('version of a profile')

const Change = z.strictObject({
  item: z.string(),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
})

export const SetProfileParams = z.strictObject({
  name: ProfileName,
  profile: Profile,
  base: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .optional()
    .describe('newest version that you have seen, 0 for a new profile; absent to replace any'),
})
export const CheckProfileParams = z.strictObject({ name: ProfileName, profile: Profile })
export const CheckProfileResult = z.strictObject({
  name: z.string(),
  version: z.int().describe('newest version, with which it was compared; 0 for none'),
  profile: z.unknown().describe('the profile with all its members'),
  changes: z.array(Change),
})
export const GetProfileParams = z.strictObject({ name: ProfileName, version: Version.optional() })
export const DiffProfileParams = z.strictObject({
  name: ProfileName,
  from: Version.optional().describe('absent for the version before `to`'),
  to: Version.optional().describe('absent for the newest version'),
})

export const ProfileInfo = z.strictObject({
  name: z.string(),
  version: z.int(),
  digest: z.string(),
  profile: z.unknown(),
  created_at: Datetime,
  created_by: z.string().nullable().describe('name of a key; null for the command line'),
})
export const SetProfileResult = z.strictObject({ ...ProfileInfo.shape, changes: z.array(Change) })
export const ProfileDiff = z.strictObject({
  name: z.string(),
  from: z.int(),
  to: z.int(),
  changes: z.array(Change),
})

/** Report of a gateway about itself: some hundred bytes. */
export const Report = z.strictObject({
  version: z.string().max(100).describe('version of the program'),
  uptime_s: z.int().min(0),
  disk_free_bytes: z.int().min(0),
  clock_us: z.int().min(0).describe('wall clock, µs UTC'),
  clock_trusted: z.boolean(),
  ready: z.boolean(),
  /** parts that are not ready, or have a warning */
  parts: z.array(z.string().max(300)).max(20),
  backlog: z.strictObject({
    rows: z.int().min(0),
    models: z.int().min(0),
    bytes: z.int().min(0),
    oldest_s: z.int().min(0).nullable(),
  }),
  doctor: z.string().max(300).nullable().describe('worst finding of doctor; null for none'),
  position: z
    .tuple([z.number().min(-180).max(180), z.number().min(-90).max(90)])
    .nullable()
    .describe('last position: longitude and latitude'),
})

const Item = z.strictObject({
  item: z.string().max(300),
  state: z
    .enum(['applied', 'waiting', 'refused', 'staged', 'rolled_back'])
    .describe(
      'staged: a release waits for `fieldgate update --staged`; rolled_back: it did not work on this gateway',
    ),
  reason: z.string().max(300).nullable(),
})

export const ReportParams = z.strictObject({
  report: Report,
  profile: z.strictObject({
    applied: Digest.nullable().describe('digest of the profile in force'),
    tried: Digest.nullable().describe('digest of the profile that was tried last'),
    outcome: z.enum(['applied', 'partly', 'put_back']).nullable(),
    reason: z.string().max(500).nullable().describe('why it was put back'),
    items: z.array(Item).max(50).describe('what waits or was refused'),
  }),
})

export const RolloutParams = z.strictObject({ name: ProfileName })
export const RolloutInfo = z.strictObject({
  name: z.string(),
  version: z.int().describe('the newest version'),
  state: z
    .enum(['canary', 'stopped', 'all'])
    .describe(
      'canary: some gateways try it; stopped: too many of them are in trouble; all: every gateway gets it',
    ),
  gateways: z.int().describe('members of the profile'),
  canaries: z.array(z.string()).describe('UUIDs of the gateways that try it first'),
  applied: z.int().describe('gateways that have it'),
  trouble: z.int().describe('gateways that put it back, or are not ready with it'),
})

const ReceivedProfile = z.strictObject({
  name: z.string(),
  version: z.int(),
  digest: z.string(),
  body: z.unknown().describe('absent when the gateway has it').optional(),
})
const Hub = z.strictObject({ node: z.string(), signing_key: z.string(), exchange_key: z.string() })

export const ReportResult = z.strictObject({ hub: z.string(), profile: ReceivedProfile })

export const JoinParams = z.strictObject({
  node: NodeId,
  name: GatewayName,
  signing_key: PublicKey.describe('Ed25519'),
  exchange_key: PublicKey.describe('X25519'),
  secret_sha256: Digest.describe('of the secret that the gateway made for its key'),
  signature: z
    .string()
    .regex(/^[A-Za-z0-9_-]{86}$/, 'expected 64 bytes in base64url')
    .describe(
      'of signing_key over the lines id of the token, node, signing_key, exchange_key, secret_sha256',
    ),
})
export const JoinResult = z.strictObject({
  api_key: z.string().describe('id of the key of the gateway'),
  hub: Hub,
  profile: ReceivedProfile,
})

export const MemberParams = z.strictObject({ node: NodeId })

export const MemberInfo = z.strictObject({
  node: z.string(),
  name: z.string(),
  profile: z.string(),
  state: z.enum(['member', 'left', 'revoked']),
  joined_at: Datetime,
  ended_at: Datetime.nullable(),
  applied: z.int().nullable().describe('version of the profile in force; null for none, or an unknown one'),
  tried: z.int().nullable().describe('version that was tried last'),
  outcome: z.enum(['applied', 'partly', 'put_back']).nullable(),
  last_seen: Datetime.nullable(),
  report: z.unknown().describe('last report; null before the first'),
})
const TroubleKind = z.enum(TROUBLES)
const choiceShape = {
  name: z.string().max(80).optional().describe('part of the name; absent for all'),
  profile: ProfileName.optional().describe('absent for those of all profiles'),
}
const Troubles = z
  .array(TroubleKind)
  .max(TROUBLES.length)
  .optional()
  .describe('worst troubles; absent for all')

export const ListMembersParams = z.strictObject({
  ...choiceShape,
  trouble: Troubles,
  order: z.enum(['name', 'trouble']).default('name').describe('trouble: the worst first, then by name'),
  limit: z.int().min(0).max(100_000).optional().describe('absent for all'),
  offset: z.int().min(0).max(10_000_000).default(0),
})
export const ListedMember = z.strictObject({
  ...MemberInfo.shape,
  trouble: TroubleKind.describe(
    'worst trouble: revoked; silent: no report for an hour; not_ready; put_back: the profile or a release; ' +
      'behind: rows or models have waited for an hour; clock: off by five minutes; finding: of doctor; ' +
      'partly: a part of the profile is not applied; outdated: without its newest version; none; left: no member any more',
  ),
})
export const CountMembersParams = z.strictObject(choiceShape)
export const CountMembersResult = z.strictObject({
  total: z.int(),
  trouble: z.record(TroubleKind, z.int()).describe('gateways by their worst trouble'),
})
export const ListPositionsParams = z.strictObject({ ...choiceShape, trouble: Troubles })
export const MemberPosition = z.strictObject({
  node: z.string(),
  name: z.string(),
  trouble: TroubleKind,
  position: z.tuple([z.number(), z.number()]).describe('longitude and latitude'),
})

export const MemberHistory = z.strictObject({
  ...MemberInfo.shape,
  signing_key: z.string(),
  exchange_key: z.string(),
  reports: z.array(z.strictObject({ at: Datetime, report: z.unknown() })).describe('of the last day'),
})

const MemberItem = z.strictObject({ ...Item.shape, item: z.string(), reason: z.string().nullable() })

export const MembershipInfo = z
  .strictObject({
    hub: z.string().describe('base URL'),
    name: z.string(),
    state: z.enum(['joining', 'member', 'refused', 'left']),
    reason: z.string().nullable(),
    joined_at: Datetime.nullable(),
    last_contact: Datetime.nullable().describe('last answer of the hub; null for none since it joined'),
    wanted: z
      .int()
      .nullable()
      .describe('version of the profile that the hub wants here, as it last answered'),
    profile: z.strictObject({ name: z.string(), version: z.int(), digest: z.string() }).nullable(),
    items: z.array(MemberItem),
    put_back: z.strictObject({ version: z.int(), reason: z.string() }).nullable(),
    fetching: z
      .strictObject({
        version: z.int(),
        items: z.array(MemberItem),
      })
      .nullable()
      .describe('version that is applied when its files are here, and those that are not'),
  })
  .nullable()

const isNoToken = hiddenFault('expected what `fieldgate fleet token` at the hub prints')

export const JoinHubParams = z.strictObject({
  hub: z.string().min(1).max(2000).describe('base URL of the hub'),
  token: z
    .string({ error: isNoToken })
    .max(200)
    .refine((text) => readToken(text) !== undefined, { error: isNoToken })
    .describe('token of the hub'),
  name: GatewayName,
})
export const LeaveHubParams = z.strictObject({
  force: z
    .boolean()
    .default(false)
    .describe('true: leaves also when the hub cannot be told, which lists this gateway on'),
})
export const LeaveHubResult = z.strictObject({
  hub: z.string().describe('base URL'),
  told: z.boolean().describe('false when the hub does not know'),
})
