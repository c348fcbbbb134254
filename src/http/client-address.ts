import { createAddressSet, plainAddress } from './server/addresses.js'

/** Reads a request header by its lower-case name. */
type HeaderReader = (name: string) => string | undefined

/** Returns the address of a client, from the peer of the connection and the headers of the request. */
export type ClientAddress = (peer: string | undefined, header: HeaderReader) => string

/** Address of a request without a connection, as in tests. */
const NO_ADDRESS = 'local'

/**
 * Makes the reader of client addresses. Without trusted proxies it is the peer of the connection, whatever
 * the headers say. Behind a trusted proxy it is the rightmost address in `X-Forwarded-For` or `Forwarded`
 * that is not a trusted proxy itself: everything to the left of it may be an invention of the client. If the
 * two headers name different addresses, one of them comes from the client, and the proxy's address counts.
 *
 * @param trustedProxies addresses and CIDR blocks, as the settings have them
 * @see RFC 7239, "Forwarded HTTP Extension", section 8.1
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = createAddressSet(trustedProxies)
  return (peer, header) => {
    const nearest = plainAddress(peer ?? '') ?? NO_ADDRESS
    if (!isTrusted(nearest)) return nearest
    const [first = nearest, second = first] = [
      listedHops(header('x-forwarded-for')),
      forwardedHops(header('forwarded')),
    ].flatMap((hops) => (hops.length === 0 ? [] : [rightmostUntrusted(hops, nearest, isTrusted)]))
    return first === second ? first : nearest
  }
}

/**
 * Walks from the proxy towards the client. Stops at the first hop that is not trusted; a hop without an
 * address, such as `unknown`, leaves the last one that is known.
 */
function rightmostUntrusted(
  hops: readonly (string | undefined)[],
  nearest: string,
  isTrusted: (address: string) => boolean,
): string {
  let known = nearest
  for (const hop of hops.toReversed()) {
    if (hop === undefined) return known
    known = hop
    if (!isTrusted(hop)) return known
  }
  return known
}

/** Hops of `X-Forwarded-For`, the client first; undefined for what is no address. */
function listedHops(header: string | undefined): (string | undefined)[] {
  return header === undefined ? [] : header.split(',').map(plainAddress)
}

/** Hops of `Forwarded`: the value of `for` in each element. */
function forwardedHops(header: string | undefined): (string | undefined)[] {
  if (header === undefined) return []
  return header.split(',').map((element) => {
    const value = element
      .split(';')
      .map((pair) => /^\s*for\s*=\s*("?)(.*?)\1\s*$/i.exec(pair)?.[2])
      .find((found) => found !== undefined)
    return plainAddress(value ?? '')
  })
}
