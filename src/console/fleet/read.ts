import { call } from '../core/rpc.js'

interface Time {
  val: string
}

type Outcome = 'applied' | 'partly' | 'put_back'

export interface ProfileItem {
  item: string
  state: 'applied' | 'waiting' | 'refused' | 'staged' | 'rolled_back'
  reason: string | null
}

export interface Membership {
  hub: string
  name: string
  state: 'joining' | 'member' | 'refused' | 'left'
  reason: string | null
  joined_at: Time | null
  last_contact: Time | null
  wanted: number | null
  profile: { name: string; version: number } | null
  items: ProfileItem[]
  put_back: { version: number; reason: string } | null
}

export interface Report {
  version: string
  uptime_s: number
  disk_free_bytes: number
  clock_us: number
  ready: boolean
  parts: string[]
  backlog: { rows: number; models: number; bytes: number; oldest_s: number | null }
  doctor: string | null
  position: [number, number] | null
  profile: { reason: string | null; items: ProfileItem[] }
}

export interface Gateway {
  node: string
  name: string
  profile: string
  state: 'member' | 'left' | 'revoked'
  joined_at: Time
  applied: number | null
  outcome: Outcome | null
  last_seen: Time | null
  report: Report | null
}

/** Worst trouble of a gateway. */
export type Trouble =
  | 'revoked'
  | 'silent'
  | 'not_ready'
  | 'put_back'
  | 'behind'
  | 'clock'
  | 'finding'
  | 'partly'
  | 'outdated'
  | 'none'
  | 'left'

export interface ListedGateway extends Gateway {
  trouble: Trouble
}

/** Last position of a gateway. */
export interface Position {
  node: string
  name: string
  trouble: Trouble
  position: [number, number]
}

export interface GatewayHistory extends Gateway {
  reports: { at: Time; report: Report }[]
}

export interface Token {
  token: string
  profile: string
  uses: number
  max_uses: number
  state: 'active' | 'used_up' | 'expired' | 'revoked'
  expires_at: Time | null
}

export interface Profile {
  name: string
  version: number
  profile: Record<string, unknown>
  created_at: Time
  created_by: string | null
}

export interface Rollout {
  state: 'canary' | 'stopped' | 'all'
  gateways: number
  canaries: string[]
  applied: number
  trouble: number
}

export interface Change {
  item: string
  before?: unknown
  after?: unknown
}

/** Tokens and profiles of a hub. */
export interface Hub {
  tokens: Token[]
  profiles: Profile[]
}

/** Reads the tokens and profiles of this hub. @throws CallFault */
export async function readHub(): Promise<Hub> {
  const [tokens, profiles] = await Promise.all([
    call<Token[]>('fleet.list_tokens', {}),
    call<Profile[]>('fleet.list_profiles', {}),
  ])
  return { tokens, profiles }
}
