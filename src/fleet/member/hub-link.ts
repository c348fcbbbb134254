import { z } from 'zod'
import { type AppError, isAppError } from '../../errors.js'
import { withDoubles } from '../../json/exact-json.js'
import type { ReceivedProfile } from '../../storage/exchange/membership.js'
import { malformed } from '../../sync/faults.js'
import type { UpstreamClient } from '../../sync/http-client.js'

const FLEET_PATH = '/api/v2/fleet/jsonrpc'

const NodeId = z.string().regex(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/)
const PublicKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
const Sent = z.looseObject({
  name: z.string().max(63),
  version: z.int().min(1),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  body: z.unknown().optional(),
})
const Joined = z.looseObject({
  api_key: z.string().max(100),
  hub: z.looseObject({ node: NodeId, signing_key: PublicKey, exchange_key: PublicKey }),
  profile: Sent,
})
const Reported = z.looseObject({ hub: z.string().max(100), profile: Sent })

/** A profile as a hub sends it; `body` is undefined for one that the gateway has. */
export type SentProfile = Omit<ReceivedProfile, 'body'> & { readonly body?: unknown }

/** Calls of a gateway to its hub. */
export interface HubLink {
  /** @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED */
  join(request: object, signal: AbortSignal): Promise<z.output<typeof Joined>>
  /** @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED */
  report(params: object, signal: AbortSignal): Promise<{ hub: string; profile: SentProfile }>
  /** @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED */
  leave(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Creates the link over the client of the hub. */
export function createHubLink(client: UpstreamClient): HubLink {
  const call = async <S extends z.ZodType>(
    method: string,
    params: object,
    schema: S,
    signal: AbortSignal,
  ) => {
    const read = schema.safeParse(withDoubles(await client.rpc(FLEET_PATH, method, params, signal)))
    if (!read.success) throw malformed(`another result than that of ${method}`)
    return read.data
  }
  return {
    join: (request, signal) => call('fleet.join', request, Joined, signal),
    report: (params, signal) => call('fleet.report', params, Reported, signal),
    async leave(signal) {
      await call('fleet.leave', {}, z.looseObject({}), signal)
    },
    close: () => client.close(),
  }
}

/** Reports whether a hub does not accept the key of this gateway: it was revoked, or the hub does not know it. */
export function isKeyRefused(error: unknown): error is AppError {
  if (!isAppError(error) || error.errorName !== 'UPSTREAM_REFUSED') return false
  return error.data.status === 401 || error.data.status === 403
}
