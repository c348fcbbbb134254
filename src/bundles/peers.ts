import type { FeedUpstreams } from '../storage/exchange/feeds.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import type { UpstreamRecord } from '../storage/models/upstreams.js'
import { baseUrlOf } from '../sync/endpoint.js'

/**
 * Returns the base URL by which upstreams of models name a node: that of its keys, or that of the upstream of feeds
 * with its name; undefined for a node that has none.
 */
export async function endpointOf(
  peer: NodePeer,
  feedUpstreams: Pick<FeedUpstreams, 'find'>,
): Promise<string | undefined> {
  const endpoint = peer.endpoint ?? (await feedUpstreams.find(peer.name))?.endpoint
  return endpoint === undefined ? undefined : baseOf(endpoint)
}

/** Returns whether the models of a store go to a node. @param endpoint from `endpointOf` */
export function isUpstreamAt({ endpoint: of }: Pick<UpstreamRecord, 'endpoint'>, endpoint: string): boolean {
  return baseOf(of) === endpoint
}

/** Bundles need no network: hosts that may not be reached without TLS are compared, too. */
function baseOf(endpoint: string): string | undefined {
  const url = URL.parse(endpoint)
  return url === null ? undefined : baseUrlOf(endpoint, [url.hostname])
}
