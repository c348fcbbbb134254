import type { z } from 'zod'
import { type Caller, isAllowed } from '../../auth/caller.js'
import { datetimeObject } from '../../datetime.js'
import { AppError } from '../../errors.js'
import type { UpstreamRecord } from '../../storage/models/upstreams.js'
import type { UpstreamInfo } from './schema.js'

const MASK = '********'

/** Converts upstream information. The secret is masked for keys that may not change it. */
export function toUpstreamInfo(
  upstream: UpstreamRecord,
  caller: Pick<Caller, 'scopes'>,
  timeZoneMin: number,
): z.output<typeof UpstreamInfo> {
  return {
    id: upstream.upstreamId,
    model_store_ddc_id: null,
    model_store_dataset_id: upstream.storeId,
    upstream_endpoint: upstream.endpoint,
    upstream_apikey: upstream.apikey,
    upstream_secret:
      upstream.secret === null || isAllowed(caller.scopes, 'fl:write') ? upstream.secret : MASK,
    upstream_model_store_ddc: upstream.upstreamStore,
    alias: upstream.alias,
    description: upstream.description,
    enabled: upstream.isEnabled,
    created_at: datetimeObject(upstream.createdAtUs, timeZoneMin),
    updated_at: datetimeObject(upstream.updatedAtUs, timeZoneMin),
  }
}

/** Returns the error for upstream information that does not exist. */
export function unknownUpstream(id: number): AppError {
  return new AppError('UNKNOWN_UPSTREAM', { id }, { message: `No upstream information has the id ${id}` })
}
