import type { Config } from '../config/config.js'
import { AppError } from '../errors.js'
import type { FeedUpstream } from '../storage/exchange/feeds.js'
import { baseUrlOf } from '../sync/endpoint.js'
import { createUpstreamClient } from '../sync/http-client.js'
import { clientSettings } from '../sync/open-outbox.js'
import { createFetchLink } from './fetch/link.js'
import { createFeedLink, type FeedLink } from './send/link.js'

/**
 * Opens the connections to an upstream of feeds. Nothing is connected before the first request.
 *
 * @throws AppError BAD_ENDPOINT; UPSTREAM_REFUSED when its secret cannot be read
 */
export function connectUpstream(
  { name, endpoint, apikey, secret }: FeedUpstream,
  { sync }: Pick<Config, 'sync'>,
  version: string,
): FeedLink {
  if (secret === null) {
    const message = `The secret of the upstream ${name} was encrypted with another key file: make it again`
    throw new AppError('UPSTREAM_REFUSED', {}, { message })
  }
  const base = baseUrlOf(endpoint, sync.allowInsecure)
  const client = createUpstreamClient(base, { apikey, secret }, clientSettings(sync, version))
  return createFeedLink(client, createFetchLink(client))
}
